"""The blocks of a planning problem: when they are live, and what of them.

Example
-------
>>> block = Interval("a", 0, 4, 100, gaps=(Gap(1, 2), Gap(2, 3, (0, 10))))
>>> [(p.first, p.last, p.lo, p.hi) for p in block.pieces()]
[(0, 1, 0, 100), (2, 3, 0, 10), (3, 4, 0, 100)]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tvm_megcc.core.program import ALIGNMENT


@dataclass(frozen=True, slots=True)
class Gap:
    """Instructions ``first <= i < last`` in which a block is not live, or only its `window` is.

    ``window`` is a half-open byte range relative to the block's own offset.
    """

    first: int
    last: int
    window: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes ``[lo, hi)`` of a block, live during instructions ``first <= i < last``."""

    first: int
    last: int
    lo: int
    hi: int


@dataclass(frozen=True, slots=True)
class Interval:
    """A block of `size` bytes, live during instructions ``first <= i < last``.

    Attributes
    ----------
    name : str
        For messages, tables and plots; names need not be unique.
    first, last : int
        ``first >= last`` means that the block is never live; it may then lie anywhere.
    size, alignment : int
        Bytes; an offset is a multiple of the alignment.
    offset : int or None
        Where the block must lie, when that is not the planner's choice.
    gaps : tuple of Gap
        Disjoint parts of the interval in which less than the whole block is live.
    """

    name: str
    first: int
    last: int
    size: int
    alignment: int = ALIGNMENT
    offset: int | None = None
    gaps: tuple[Gap, ...] = ()

    @property
    def is_live(self) -> bool:
        """Whether the block ever occupies a byte."""
        return self.size > 0 and self.first < self.last and any(True for _ in self.pieces())

    def pieces(self) -> Iterator[Piece]:
        """The block as rectangles in time and bytes."""
        start = self.first
        for gap in sorted(self.gaps, key=lambda g: g.first):
            first, last = max(gap.first, start), min(gap.last, self.last)
            if first >= last:
                continue
            if start < first:
                yield Piece(start, first, 0, self.size)
            if gap.window is not None and gap.window[0] < gap.window[1]:
                yield Piece(first, last, *gap.window)
            start = last
        if start < self.last:
            yield Piece(start, self.last, 0, self.size)


def align(value: int, alignment: int) -> int:
    """The smallest multiple of `alignment` that is at least `value`."""
    return -(-value // alignment) * alignment
