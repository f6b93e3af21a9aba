"""TVM's storage allocator: whole storages handed from tensor to tensor.

In time order, a tensor takes a free storage of at least its size and less than 16 times that (the
smallest), else one of at least a sixteenth of its size (the largest), which grows, else a new one.
Storages then lie one after the other. It is here to be compared with, and because it is what a
planner without offsets can do.

Source: TVM's ``StorageAllocator`` / ``TokenAllocator1D`` (match range 16), as explained in a public
walk through TVM's code generation.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from math import lcm

import numpy as np

from tvm_megcc.memory.block import Interval
from tvm_megcc.memory.firstfit import place
from tvm_megcc.memory.flat import Flat, Ints, flatten
from tvm_megcc.memory.problem import Problem

MATCH_RANGE = 16


def storages(flat: Flat) -> tuple[list[int], list[int]]:
    """The storage of each block, and the bytes of each storage; fixed blocks have none (-1)."""
    free: list[tuple[int, int, int]] = []  # bytes, when it was freed, storage
    sizes: list[int] = []
    token = [-1] * flat.n
    size, fixed = flat.size.tolist(), flat.fixed.tolist()
    events = (event for event in flat.events() if fixed[event[2]] < 0)
    for moment, (_, starts, block) in enumerate(events):
        if not starts:
            insort(free, (sizes[token[block]], moment, token[block]))
            continue
        want = size[block]
        begin = bisect_left(free, (want // MATCH_RANGE,))
        middle = bisect_left(free, (want,))
        end = bisect_right(free, (want * MATCH_RANGE + 1,))
        if middle < end:
            at = middle
        elif begin < middle:
            at = middle - 1
        else:
            token[block] = len(sizes)
            sizes.append(want)
            continue
        token[block] = free.pop(at)[2]
        sizes[token[block]] = max(sizes[token[block]], want)
    return token, sizes


def storage_allocator(flat: Flat, *, pure: bool = False) -> Ints:
    """Offsets: storages one after the other, around what is fixed."""
    token, sizes = storages(flat)
    alignment = [1] * len(sizes)
    for block, mine in enumerate(token):
        if mine >= 0:
            alignment[mine] = lcm(alignment[mine], int(flat.alignment[block]))
    end = int(flat.last.max(initial=1))
    begin = min(int(flat.first.min(initial=0)), end - 1)
    whole = [Interval("", begin, end, s, a) for s, a in zip(sizes, alignment, strict=True)]
    fixed = [flat.problem.intervals[int(k)] for k in flat.index[flat.fixed >= 0]]
    row = flatten(Problem((*whole, *fixed)))
    base = place(row, np.arange(row.n), pure=pure)
    offsets = flat.fixed.copy()
    for block, mine in enumerate(token):
        if mine >= 0:
            offsets[block] = base[mine]
    return offsets
