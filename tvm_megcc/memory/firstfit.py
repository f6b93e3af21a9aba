"""Blocks in a given order, each at the lowest offset, or in the tightest hole, that is free.

`place` is O(n) array steps per block here and the same in C, where a compiler is at hand; both give
the same offsets.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tvm_megcc.memory import native
from tvm_megcc.memory.flat import Flat, Ints

Fit = Literal["first", "best"]


def place(flat: Flat, order: Ints, fit: Fit = "first", *, pure: bool = False) -> Ints:
    """Offsets of `flat`'s blocks, placed one after the other in `order`; fixed blocks come first.

    First fit takes the lowest hole that holds the block, best fit the smallest one (the lowest of
    equals); where there is none, a block lies above all neighbours. A block of several pieces is
    placed by first fit. `pure`: never use the C core.
    """
    core = None if pure else native.core()
    if core is not None:
        return core.place(flat, order, fit == "best")
    return _Arena(flat).place(order, fit == "best")


class _Arena:
    """The pieces placed so far, as parallel arrays sorted by start address."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        self.offsets: Ints = np.zeros(flat.n, dtype=np.int64)
        self.count = 0
        # start, end, first, last of the placed pieces
        self.rows: Ints = np.zeros((4, len(flat.t0)), dtype=np.int64)

    def place(self, order: Ints, best: bool) -> Ints:
        flat = self.flat
        for block in np.flatnonzero(flat.fixed >= 0).tolist():
            self._put(block, int(flat.fixed[block]))
        for block in order.tolist():
            if flat.fixed[block] >= 0:
                continue
            pieces = range(int(flat.start[block]), int(flat.start[block + 1]))
            if len(pieces) == 1:
                offset = self._hole(block, pieces[0], 0, best)
            else:
                offset, before = 0, -1
                while offset != before:
                    before = offset
                    for piece in pieces:
                        offset = self._hole(block, piece, offset, False)
            self._put(block, offset)
        return self.offsets

    def _hole(self, block: int, piece: int, floor: int, best: bool) -> int:
        """The offset of a block, at or above `floor`, that suits one of its pieces."""
        flat, alignment = self.flat, int(self.flat.alignment[block])
        lo, hi = int(flat.lo[piece]), int(flat.hi[piece])
        start, end, first, last = self.rows[:, : self.count]
        near = (first < flat.t1[piece]) & (flat.t0[piece] < last) & (end > floor + lo)
        starts = start[near]
        reach = np.maximum.accumulate(np.concatenate([[floor + lo], end[near]]))
        offsets = -(-np.maximum(reach - lo, 0) // alignment) * alignment
        room = starts - (offsets[:-1] + lo)
        fits = np.flatnonzero(room >= hi - lo)
        if not len(fits):
            return int(offsets[-1])
        return int(offsets[fits[np.argmin(room[fits])] if best else fits[0]])

    def _put(self, block: int, offset: int) -> None:
        flat, n = self.flat, self.count
        self.offsets[block] = offset
        for piece in range(int(flat.start[block]), int(flat.start[block + 1])):
            begin = offset + int(flat.lo[piece])
            at = int(np.searchsorted(self.rows[0, :n], begin, side="right"))
            self.rows[:, at + 1 : n + 1] = self.rows[:, at:n].copy()
            row = (begin, offset + int(flat.hi[piece]), int(flat.t0[piece]), int(flat.t1[piece]))
            self.rows[:, at] = row
            n += 1
        self.count = n
