"""The PushDown planner of MegEngine and MegCC, with alignment counted.

First the blocks are given out and taken back in time order from a list of chunks: a request takes
the smallest free chunk that holds it, else the largest one grows, else a new one is appended. That
list says at every moment which live block is below which. Then sizes count again: every block is
pushed down onto the highest end of those below it.

Source: MegEngine, ``static_mem_alloc/pushdown.cpp`` (the idea; MegCC took it over). There alignment
is left to the last step, so that the simulation sees other sizes than the plan has.
"""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np

from tvm_megcc.memory.below import BelowOrder, addresses
from tvm_megcc.memory.block import align
from tvm_megcc.memory.firstfit import place
from tvm_megcc.memory.flat import Flat, Ints


class _Chunk:
    """A link of the list; `block` is None while it is free."""

    __slots__ = ("block", "bytes", "next", "number", "prev")

    def __init__(self, number: int) -> None:
        self.block: int | None = None
        self.bytes = 0
        self.number = number
        self.prev: _Chunk | None = None
        self.next: _Chunk | None = None


class _Chunks:
    """Memory as a list of chunks by address, no two free ones side by side."""

    def __init__(self) -> None:
        self._head = self._tail = _Chunk(-1)
        self._head.block = -1  # a sentinel that is never free
        self._free: list[tuple[int, int]] = []
        self._chunks: dict[int, _Chunk] = {}
        self._count = 0

    def take(self, block: int, size: int) -> _Chunk:
        if not self._free:
            chunk = self._link(self._tail)
        else:
            at = min(bisect_left(self._free, (size, -1)), len(self._free) - 1)
            chunk = self._chunks.pop(self._free.pop(at)[1])
        rest = chunk.bytes - size
        chunk.block, chunk.bytes = block, size
        if rest > 0:
            self._release(self._link(chunk), rest)
        return chunk

    def give_back(self, chunk: _Chunk) -> None:
        size = chunk.bytes
        for side in (chunk.prev, chunk.next):
            if side is not None and side.block is None:
                size += side.bytes
                self._unlink(side)
        self._release(chunk, size)

    def neighbours(self, chunk: _Chunk) -> tuple[int | None, int | None]:
        """The live blocks directly below and above."""
        below, above = chunk.prev, chunk.next
        if below is not None and below.block is None:
            below = below.prev
        if above is not None and above.block is None:
            above = above.next
        under = below.block if below is not None and below is not self._head else None
        return under, above.block if above is not None else None

    def _link(self, after: _Chunk) -> _Chunk:
        chunk = _Chunk(self._count)
        self._count += 1
        chunk.prev, chunk.next = after, after.next
        if after.next is not None:
            after.next.prev = chunk
        else:
            self._tail = chunk
        after.next = chunk
        return chunk

    def _unlink(self, chunk: _Chunk) -> None:
        self._free.remove((chunk.bytes, chunk.number))
        del self._chunks[chunk.number]
        assert chunk.prev is not None
        chunk.prev.next = chunk.next
        if chunk.next is not None:
            chunk.next.prev = chunk.prev
        else:
            self._tail = chunk.prev

    def _release(self, chunk: _Chunk, size: int) -> None:
        chunk.block, chunk.bytes = None, size
        insort(self._free, (size, chunk.number))
        self._chunks[chunk.number] = chunk


def simulated_order(flat: Flat) -> BelowOrder:
    """Which blocks lie directly below which when a best-fit allocator runs `flat`'s lifetimes.

    `flat.gaps` are ignored.
    """
    chunks = _Chunks()
    held: dict[int, _Chunk] = {}
    below: list[set[int]] = [set() for _ in range(flat.n)]
    above: list[set[int]] = [set() for _ in range(flat.n)]
    sizes, alignments = flat.size.tolist(), flat.alignment.tolist()
    for _, starts, block in flat.events():
        if not starts:
            chunks.give_back(held.pop(block))
            continue
        held[block] = chunks.take(block, align(sizes[block], alignments[block]))
        under, over = chunks.neighbours(held[block])
        for low, high in ((under, block), (block, over)):
            if low is not None and high is not None:
                below[high].add(low)
                above[low].add(high)
    return BelowOrder(
        _topological(below, above), tuple(tuple(sorted(b)) for b in below), tuple(alignments)
    )


def _topological(below: list[set[int]], above: list[set[int]]) -> tuple[int, ...]:
    waiting = [len(under) for under in below]
    sequence = [block for block, count in enumerate(waiting) if not count]
    for block in sequence:  # which grows meanwhile
        for over in sorted(above[block]):
            waiting[over] -= 1
            if not waiting[over]:
                sequence.append(over)
    assert len(sequence) == len(below)
    return tuple(sequence)


def pushdown(flat: Flat, *, pure: bool = False) -> Ints:
    """Offsets of the PushDown planner.

    Blocks that are fixed, or gaps, are beyond the relation: there its addresses only give the order
    in which the blocks are placed, first fit.
    """
    offsets, _ = addresses(simulated_order(flat), flat.size.tolist())
    found = np.array(offsets, dtype=np.int64)
    if (flat.fixed >= 0).any() or flat.has_gaps:
        return place(flat, np.argsort(found, kind="stable"), pure=pure)
    return found
