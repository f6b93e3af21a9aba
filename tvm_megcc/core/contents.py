"""Contents of files in pieces, so that weights are not copied on their way to the disk.

Example
-------
>>> content = Parts([b"ab", memoryview(b"cd")])
>>> len(content), bytes(content), [bytes(piece) for piece in content]
(4, b'abcd', [b'ab', b'cd'])
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Sequence

#: Bytes, or a read-only view of an array's.
Bytes = bytes | memoryview


class Parts:
    """The content of a file as `pieces` one after the other."""

    __slots__ = ("_length", "pieces")

    def __init__(self, pieces: Sequence[Bytes]) -> None:
        self.pieces = tuple(piece for piece in pieces if len(piece))
        self._length = sum(map(len, self.pieces))

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Bytes]:
        return iter(self.pieces)

    def __bytes__(self) -> bytes:
        return b"".join(self.pieces)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parts | bytes):
            return NotImplemented
        return len(self) == len(other) and bytes(self) == bytes(other)

    __hash__ = None  # type: ignore[assignment]

    def crc32(self) -> int:
        """zlib's checksum of the whole."""
        found = 0
        for piece in self.pieces:
            found = zlib.crc32(piece, found)
        return found


#: The content of a package's file.
Content = str | bytes | Parts


def to_bytes(content: Content) -> bytes:
    """A file's content as a whole."""
    return content.encode() if isinstance(content, str) else bytes(content)


def pieces_of(content: Content) -> Iterator[Bytes]:
    """A file's content, piece by piece."""
    if isinstance(content, Parts):
        yield from content
    else:
        yield to_bytes(content)


def size_of(content: Content) -> int:
    """Bytes of a file's content."""
    return len(content) if isinstance(content, Parts) else len(to_bytes(content))


def update(digest: hashlib._Hash, content: Content) -> None:
    """Add a file's content to a hash."""
    for piece in pieces_of(content):
        digest.update(piece)
