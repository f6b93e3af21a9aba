"""Local search on the order in which blocks are placed, first fit.

A move takes a block whose end is the arena's end and places it before a random one of those placed
earlier; it is kept unless the plan gets worse. The random numbers are seeded, and the search is
bounded by work that is counted, so that the same problem has the same answer.
"""

from __future__ import annotations

import random
import time

import numpy as np

from tvm_megcc.memory.firstfit import place
from tvm_megcc.memory.flat import Flat, Ints


def improve(
    flat: Flat, order: Ints, goal: int, work: int, deadline: float, *, pure: bool = False
) -> Ints:
    """Better offsets than those of `order`, if any are found.

    The search stops at an arena of `goal` bytes, after `work` counted steps of about a nanosecond,
    or when ``time.monotonic()`` reaches `deadline`.
    """
    chance = random.Random(flat.n)
    order = np.array(order, dtype=np.int64)
    offsets = place(flat, order, pure=pure)
    best = _cost(flat, offsets)
    # a trial: each block scans what is placed, and costs a call
    trials = work // (flat.n * len(flat.t0) + 50_000)
    for _ in range(trials if flat.n > 1 else 0):
        if best[0] <= goal or time.monotonic() > deadline:
            break
        critical = np.flatnonzero((offsets + flat.size == best[0]) & (flat.fixed < 0))
        if not len(critical):
            break
        block = int(critical[chance.randrange(len(critical))])
        # a critical block that is placed first cannot go earlier: disturb some other one
        at = int(np.flatnonzero(order == block)[0]) or chance.randrange(1, flat.n)
        to = chance.randrange(at)
        trial = order.copy()
        trial[to + 1 : at + 1] = order[to:at]
        trial[to] = order[at]
        found = place(flat, trial, pure=pure)
        cost = _cost(flat, found)
        if cost <= best:
            best, order, offsets = cost, trial, found
    return offsets


def _cost(flat: Flat, offsets: Ints) -> tuple[int, int]:
    """The arena, then how many blocks reach it."""
    ends = offsets + flat.size
    peak = int(ends.max(initial=0))
    return peak, int((ends == peak).sum())
