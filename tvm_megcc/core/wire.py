"""Protobuf messages, field by field, without a schema and without copies.

Enters: the bytes of a message (a `memoryview` or a map of a file). Leaves: where each field is. The
format: https://protobuf.dev/programming-guides/encoding.

Example
-------
>>> [(f.number, f.value) for f in fields(b"\\x08\\x96\\x01")]
[(1, 150)]
>>> list(fields(b"\\x12\\x02hi"))
[Field(number=2, value=2, begin=0, start=2, end=4)]
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import NamedTuple

Bytes = bytes | memoryview | mmap.mmap

#: Bytes of a value by its wire type: 64 and 32 bits.
_FIXED = {1: 8, 5: 4}


class DamagedError(ValueError):
    """The bytes are no message, or one that is cut short."""


class Field(NamedTuple):
    """One field of a message.

    Attributes
    ----------
    number : int
    value : int
        Of a varint its value, of anything else its length in bytes.
    begin, start, end : int
        Where its tag, its payload and what comes after it begin.
    """

    number: int
    value: int
    begin: int
    start: int
    end: int

    @property
    def has_bytes(self) -> bool:
        """Whether the payload is text, bytes, a message or packed numbers."""
        return self.start + self.value == self.end


def fields(data: Bytes, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of the message from `start` to `end`.

    Raises
    ------
    DamagedError
    """
    end = len(data) if end is None else end
    at = start
    while at < end:
        begin = at
        tag, at = _varint(data, at, end)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, after = _varint(data, at, end)
        elif kind == 2:
            value, at = _varint(data, at, end)
            after = at + value
        else:
            value = _FIXED.get(kind, 0)
            after = at + value
        if number == 0 or (kind and not value and kind != 2) or after > end:
            raise DamagedError
        yield Field(number, value, begin, at, after)
        at = after


def varint(value: int) -> bytes:
    """A number as messages have it.

    >>> varint(150)
    b'\\x96\\x01'
    """
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def message(number: int, payload: bytes) -> bytes:
    """A field whose payload is bytes.

    >>> message(2, b"hi")
    b'\\x12\\x02hi'
    """
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def _varint(data: Bytes, at: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise DamagedError
