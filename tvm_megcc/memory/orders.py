"""Greedy planners: blocks in some order, each at the lowest offset (or in the tightest hole) free.

Sources: "Efficient Memory Management for Deep Neural Net Inference" (arXiv 2001.03288, TFLite) for
``greedy-size``; TVM's unified static memory planner (USMP, RFC 0009) for ``greedy-conflicts``; the
``first-fit-*`` orders are MiniMalloc's (ASPLOS'23) and the folklore of strip packing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tvm_megcc.memory.firstfit import Fit, place
from tvm_megcc.memory.flat import Flat, Ints, conflicts


def pressure(flat: Flat) -> Ints:
    """The most bytes that are live at once during each block's life, alignment not counted."""
    starts = np.unique(flat.t0)
    change = np.zeros(len(starts) + 1, dtype=np.int64)
    begin, end = np.searchsorted(starts, flat.t0), np.searchsorted(starts, flat.t1)
    np.add.at(change, begin, flat.hi - flat.lo)
    np.add.at(change, end, flat.lo - flat.hi)
    live = np.cumsum(change)[:-1]
    return _range_max(live, np.searchsorted(starts, flat.first), np.searchsorted(starts, flat.last))


def _range_max(values: Ints, begin: Ints, end: Ints) -> Ints:
    """Maximum of ``values[b:e]`` for each pair, by a sparse table."""
    if not len(begin):
        return begin
    table = [values]
    while 2 << len(table) - 1 <= len(values):
        half = 1 << len(table) - 1
        table.append(np.maximum(table[-1][:-half], table[-1][half:]))
    level = np.floor(np.log2(np.maximum(end - begin, 1))).astype(np.int64)
    out = np.empty_like(begin)
    for k, row in enumerate(table):
        mine = level == k
        out[mine] = np.maximum(row[begin[mine]], row[end[mine] - (1 << k)])
    return out


#: Name -> columns to sort by, most significant first; ties go to the problem's order.
ORDERS: dict[str, Callable[[Flat], tuple[Ints, ...]]] = {
    "greedy-size": lambda f: (-f.size, f.first, f.last),
    "greedy-conflicts": lambda f: (-conflicts(f), -f.size, f.first),
    "first-fit-size": lambda f: (-f.size, f.first, f.last),
    "first-fit-area": lambda f: (-f.size * (f.last - f.first), f.first, f.last),
    "first-fit-lifetime": lambda f: (f.first - f.last, -f.size, f.first),
    "first-fit-pressure": lambda f: (-pressure(f), f.first - f.last, -f.size),
    "first-fit-pressure-size": lambda f: (-pressure(f), -f.size, f.first),
    "first-fit-time": lambda f: (f.first, -f.size, f.last),
    "first-fit-end": lambda f: (-f.last, -f.size, f.first),
}

#: Planners that take the smallest hole instead of the lowest.
BEST_FIT = ("greedy-size",)


def order_of(flat: Flat, name: str) -> Ints:
    """The permutation in which planner `name` places the blocks."""
    columns = ORDERS[name](flat)
    return np.asarray(np.lexsort(columns[::-1]), dtype=np.int64)


def greedy(flat: Flat, name: str, *, pure: bool = False) -> Ints:
    """Offsets of the planner `name` of `ORDERS`."""
    fit: Fit = "best" if name in BEST_FIT else "first"
    return place(flat, order_of(flat, name), fit, pure=pure)
