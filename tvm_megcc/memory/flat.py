"""A problem as arrays: the form in which the planners and their C core work.

Enters: a `Problem`. Leaves: a `Flat` of its live blocks (blocks that are never live get offset 0,
or their fixed one). A block is one or more pieces, rectangles in time and bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tvm_megcc.memory.problem import Problem

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Flat:
    """The live blocks of a problem, in its order.

    Attributes
    ----------
    index : array
        Position of each block in the problem.
    size, alignment, fixed, first, last : array
        Per block; ``fixed`` is -1 where the offset is free.
    start : array
        Block ``b`` has the pieces ``start[b]`` up to, not including, ``start[b + 1]``.
    t0, t1, lo, hi : array
        Per piece.
    """

    problem: Problem
    index: Ints
    size: Ints
    alignment: Ints
    fixed: Ints
    first: Ints
    last: Ints
    start: Ints
    t0: Ints
    t1: Ints
    lo: Ints
    hi: Ints

    @property
    def n(self) -> int:
        return len(self.index)

    @property
    def has_windows(self) -> bool:
        """Whether some block is live in part only for a time."""
        whole = np.repeat(self.size, np.diff(self.start))
        return bool(((self.lo != 0) | (self.hi != whole)).any())

    @property
    def has_gaps(self) -> bool:
        return len(self.t0) != self.n

    def events(self) -> list[tuple[int, int, int]]:
        """(instruction, 1 where the block begins and 0 where it ends, block), in order."""
        begins = [(step, 1, k) for k, step in enumerate(self.first.tolist())]
        return sorted([*begins, *((step, 0, k) for k, step in enumerate(self.last.tolist()))])

    def peak(self, offsets: Ints) -> int:
        """Bytes that the blocks need at these offsets."""
        return int((offsets + self.size).max(initial=0))

    def spread(self, offsets: Ints) -> tuple[int, ...]:
        """Offsets of live blocks -> offsets of all blocks of the problem."""
        everywhere = [block.offset or 0 for block in self.problem.intervals]
        for position, offset in zip(self.index.tolist(), offsets.tolist(), strict=True):
            everywhere[position] = offset
        return tuple(everywhere)


def flatten(problem: Problem) -> Flat:
    """Blocks of a planning problem as arrays: sizes, alignments, starts, ends, gaps."""
    live = [(k, block) for k, block in enumerate(problem.intervals) if block.is_live]
    pieces = [list(block.pieces()) for _, block in live]
    rows = list(chain.from_iterable(pieces))
    return Flat(
        problem,
        _ints([k for k, _ in live]),
        _ints([b.size for _, b in live]),
        _ints([b.alignment for _, b in live]),
        _ints([-1 if b.offset is None else b.offset for _, b in live]),
        _ints([b.first for _, b in live]),
        _ints([b.last for _, b in live]),
        np.concatenate([[0], np.cumsum([len(p) for p in pieces], dtype=np.int64)]).astype(np.int64),
        _ints([p.first for p in rows]),
        _ints([p.last for p in rows]),
        _ints([p.lo for p in rows]),
        _ints([p.hi for p in rows]),
    )  # fmt: skip


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def conflicts(flat: Flat) -> Ints:
    """How many other blocks each block overlaps in time, gaps not looked at."""
    begun = np.searchsorted(np.sort(flat.first), flat.last, side="left")
    ended = np.searchsorted(np.sort(flat.last), flat.first, side="right")
    return np.asarray(begun - ended - 1, dtype=np.int64)
