"""Branch and bound: is there a plan within a given arena?

A *section* is a moment in time at which a maximal set of blocks is live; each is a machine on which
its blocks queue up by address. A node of the search knows for each block a lowest address, and for
each section the bytes still to place. It branches on a block that stands on what is placed below it
and under which nothing else fits: either it stays there, or it lies higher. What follows from that:

* canonical solutions: drop blocks into holes below them until none can drop, and every block stands
  on address 0, on its fixed place or on another block; so a block that lies higher stands on one
  that is still to come, and something reaches into the hole below it (dominance);
* blocks of one lifetime that lie on each other may be swapped without moving anything else, equal
  blocks always: only the order by rank, and by number, is tried (symmetry);
* in a section where little room is left, whoever cannot be the lowest lies above another block, and
  the blocks above any address must fit under the limit (inference of offsets);
* blocks that share no section fall into parts that are solved one by one.

Sources: MiniMalloc (Moffitt, ASPLOS'23, doi 10.1145/3623278.3624752) for sections, canonical
solutions and dominance; the not-first rule and Jackson's bound of job-shop scheduling (Carlier and
Pinson, 1989) for the inference. ``core.c`` is the same search, some hundred times faster.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tvm_megcc.memory import branch_pure, native
from tvm_megcc.memory.branch_model import Attempt, Model
from tvm_megcc.memory.flat import Ints

Verdict = Literal["solved", "infeasible", "limit"]
VERDICTS: dict[int, Verdict] = {1: "solved", 0: "infeasible", -1: "limit"}

#: Limits of the search: blocks, and pairs of blocks that are live at once.
MAX_PAIRS = 6_000_000
MAX_BLOCKS = 5_000
#: The search in Python recurses once per block.
MAX_PURE_BLOCKS = 300


@dataclass(frozen=True, slots=True)
class Outcome:
    """Offsets (of the `Flat`'s blocks) when solved; ``work`` counts steps of the inner loops."""

    verdict: Verdict
    offsets: Ints
    nodes: int
    work: int


def search(model: Model, attempt: Attempt, seconds: float, *, pure: bool = False) -> Outcome:
    """Search for offsets within ``attempt.cap``, in C or with `pure` in Python.

    The answer depends on the attempt alone, unless `seconds` run out first.
    """
    core = None if pure else native.core()
    if core is not None:
        result, found, nodes, work = core.search(model, attempt, seconds)
    else:
        deadline = time.monotonic() + seconds
        result, found, nodes, work = branch_pure.Search(model, attempt, deadline).run()
    offsets = np.zeros_like(found)
    offsets[model.order] = found
    return Outcome(VERDICTS[result], offsets, nodes, work)
