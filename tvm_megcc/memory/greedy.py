"""Greedy planners: blocks in some order, each at the lowest offset free of its live neighbours.

Sources: "Efficient Memory Management for Deep Neural Net Inference" (arXiv 2001.03288) for the
order by size; the others are the same placement with other orders.
"""

from __future__ import annotations

from collections.abc import Callable

from tvm_megcc.memory.problem import Interval, Problem, Solution, align

Key = Callable[[Interval], tuple[int, ...]]

#: Name -> sort key; every key ends with a total order, so that plans are deterministic.
ORDERS: dict[str, Key] = {
    "greedy-size": lambda i: (-i.size, i.first, i.last),
    "greedy-area": lambda i: (-i.size * (i.last - i.first), i.first, i.last),
    "greedy-lifetime": lambda i: (i.first - i.last, -i.size, i.first),
    "first-fit": lambda i: (i.first, -i.size, i.last),
}


def plan_in_order(problem: Problem, order: str) -> Solution:
    """Place blocks in the order named, first fit."""
    intervals = problem.intervals
    offsets = [0] * len(intervals)
    placed: list[int] = []
    ranked = sorted(range(len(intervals)), key=lambda k: (*ORDERS[order](intervals[k]), k))
    for index in ranked:
        block = intervals[index]
        if not block.size or block.first >= block.last:
            continue
        offsets[index] = _lowest_gap(block, [(offsets[p], intervals[p]) for p in placed])
        placed.append(index)
    peak = max((offsets[p] + intervals[p].size for p in placed), default=0)
    return Solution(tuple(offsets), peak, order)


def _lowest_gap(block: Interval, placed: list[tuple[int, Interval]]) -> int:
    neighbours = sorted(
        (offset, offset + other.size)
        for offset, other in placed
        if other.first < block.last and block.first < other.last
    )
    candidate = 0
    for start, end in neighbours:
        if candidate + block.size <= start:
            break
        candidate = max(candidate, align(end, block.alignment))
    return candidate
