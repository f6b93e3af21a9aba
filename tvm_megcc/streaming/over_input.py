"""A result of a loop over bands lies over an image that the loop reads for the last time.

Rows of the image are needed no more while rows of the result come. So the result begins before the
image, by so many bytes that it never reaches a row which is still to be read.

Example
-------
Rows of 64 bytes become rows of 256, one for one, by a window of three:

>>> image = Source(0, 10 * 64, 64, (Reader(0, Path(1, 0, 10), Window(1, 1, 3, 1, 10)),))
>>> result = Result(1, 10 * 256, 256, 0, Path(1, 0, 10))
>>> lead(result, image, 10)
2048
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tvm_megcc.core.program import Path, Window


@dataclass(frozen=True, slots=True)
class Reader:
    """A call that reads an image: its place in the loop, the path of its result's rows, the window.

    Without a window it reads the rows of its result's numbers.
    """

    place: int
    path: Path
    window: Window | None

    def first(self, iteration: int) -> int | None:
        """First row that is needed from an iteration on; None behind the last."""
        row = self.path.at(iteration)
        if row == self.path.height:
            return None
        window = self.window
        return row if window is None else max(0, row * window.stride // window.up - window.pad)


@dataclass(frozen=True, slots=True)
class Source:
    """An image that is whole when the loop begins, and that nothing reads behind the loop."""

    tensor: int
    bytes: int
    row_bytes: int
    readers: tuple[Reader, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """An image that is whole when the loop ends: the place of its writer, the path of its rows."""

    tensor: int
    bytes: int
    row_bytes: int
    place: int
    path: Path


def lead(result: Result, source: Source, count: int) -> int:
    """Bytes by which `result` has to begin before `source`, in a loop of `count` iterations."""
    most = 0
    for iteration in range(count):
        end = result.path.at(iteration + 1) * result.row_bytes
        for reader in source.readers:
            # The writer may read the image, too: then rows of this band are still needed.
            row = reader.first(iteration + (reader.place < result.place))
            if row is not None:
                most = max(most, end - row * source.row_bytes)
    return most


@dataclass(frozen=True, slots=True)
class Pair:
    """Tensors of a source and of a result over it, the lead, and the bytes that this saves."""

    source: int
    result: int
    lead: int
    saved: int


def best_pair(results: Iterable[Result], sources: Iterable[Source], count: int) -> Pair | None:
    """The source and the result that save most memory together, if any do."""
    held = list(sources)
    rows = [(r, s, lead(r, s, count)) for r in results for s in held]
    pairs = [
        Pair(s.tensor, r.tensor, by, r.bytes + s.bytes - max(r.bytes, by + s.bytes))
        for r, s, by in rows
    ]
    most = max(pairs, key=lambda pair: pair.saved, default=None)
    return most if most is not None and most.saved > 0 else None
