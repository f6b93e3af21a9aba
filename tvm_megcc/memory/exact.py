"""The exact planner: ask `branch` for smaller and smaller arenas, in rounds of growing budgets.

A round asks for one arena, with a handful of orderings in turn (round-robin), each under a limit of
work. The first round asks for the lower bound itself; when it fails the question moves half way to
the best plan known, and when little of the way is left the limit grows. A proof that an arena is
too small moves the bound. Everything is counted, not timed, so that the answer is the same each
time unless the clock stops the search.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

import numpy as np

from tvm_megcc.memory import native
from tvm_megcc.memory.branch import MAX_BLOCKS, MAX_PAIRS, MAX_PURE_BLOCKS, search
from tvm_megcc.memory.branch_model import Attempt, Indices, Model, build
from tvm_megcc.memory.flat import Flat, Ints, conflicts

#: Work of each search of the first round, per pair of blocks live at once: a few dives down.
FIRST_WORK = 200
#: (ordering of ties, whether to branch in the tightest section), asked in turn. Which of them finds
#: a plan first differs from problem to problem.
QUESTIONS = (
    ("area", False), ("pressure", False), ("span", False), ("pressure-size", False),
    ("area", True), ("random", False), ("random", False),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """Offsets of the best plan, and an arena below which there is none (as far as proved)."""

    offsets: Ints
    bound: int


@dataclass(slots=True)
class _State:
    """How far the search is."""

    offsets: Ints
    best: int
    bound: int
    work: int
    deadline: float


def improve(
    flat: Flat,
    offsets: Ints,
    bound: int,
    work: int,
    deadline: float,
    *,
    limit: int | None = None,
    pure: bool = False,
) -> Found:
    """Better offsets than these, if any are found; see `tvm_megcc.memory.local_search.improve`.

    `bound` is bytes that any plan needs. `limit` is an arena to ask for first: finding a plan that
    fits matters more than the last byte.
    """
    state = _State(offsets, flat.peak(offsets), bound, work, deadline)
    if state.best > bound and can_search(flat, pure=pure):
        _rounds(flat, build(flat), state, limit, pure)
    return Found(state.offsets, state.bound)


def can_search(flat: Flat, *, pure: bool = False) -> bool:
    """Whether the problem is not too large for the search."""
    blocks = MAX_PURE_BLOCKS if pure or native.core() is None else MAX_BLOCKS
    return len(flat.t0) <= blocks and int(conflicts(flat).sum()) <= MAX_PAIRS


def _rounds(flat: Flat, model: Model, state: _State, limit: int | None, pure: bool) -> None:
    chance = random.Random(model.n)
    work = FIRST_WORK * (len(model.near) + model.n)
    failed = state.bound - model.step  # the largest arena that this budget did not find
    goal = limit if limit is not None and limit >= state.bound else state.bound
    while state.best > state.bound and state.work > 0 and time.monotonic() < state.deadline:
        if state.best - goal < max(model.step, (state.best - state.bound) // 8):
            work *= 2
            failed, goal = state.bound - model.step, state.bound
        verdict = _ask(flat, model, state, goal, work, chance, pure)
        if verdict == "infeasible":
            state.bound = max(state.bound, goal + model.step)
            failed = max(failed, goal)
        elif verdict == "limit":
            failed = max(failed, goal)
        middle = (max(failed, state.bound - model.step) + state.best) // 2
        goal = max(middle // model.step * model.step, failed + model.step, state.bound)


def _ask(
    flat: Flat,
    model: Model,
    state: _State,
    goal: int,
    work: int,
    chance: random.Random,
    pure: bool,
) -> str:
    """One round: every question once, until one is answered."""
    for name, tightest in QUESTIONS:
        seconds = state.deadline - time.monotonic()
        if state.work <= 0 or seconds <= 0:
            break
        attempt = Attempt(goal, rank(model, name, chance), tightest, min(work, state.work))
        outcome = search(model, attempt, seconds, pure=pure)
        state.work -= outcome.work
        if outcome.verdict == "solved":
            state.offsets, state.best = outcome.offsets, flat.peak(outcome.offsets)
        if outcome.verdict != "limit":
            return outcome.verdict
    return "limit"


def rank(model: Model, name: str, chance: random.Random) -> Indices:
    """Per block its place in the ordering `name`, by which ties are broken.

    Twins are equal to the search, not in all that an ordering looks at: their places are dealt out
    again so that they increase along the twins, as an `Attempt` needs it.
    """
    area = model.size * model.span
    orders: dict[str, tuple[Ints, ...]] = {
        "area": (-area,),
        "pressure": (-model.pressure, -model.span),
        "span": (-model.span,),
        "pressure-size": (-model.pressure, -model.size),
    }
    keys = orders.get(name, ())
    if not keys:
        kind = (area, model.span)[chance.randrange(2)]
        factors = [chance.randrange(800, 1200) for _ in range(model.n)]
        keys = (-(kind // 1000 * np.array(factors)),)
    order = np.lexsort(keys[::-1])
    ranks = np.empty(model.n, dtype=np.int32)
    ranks[order] = np.arange(model.n, dtype=np.int32)
    for chain in _chains(model.twin.tolist()):
        ranks[chain] = np.sort(ranks[chain])
    return ranks


def _chains(twin: list[int]) -> list[list[int]]:
    """Blocks that are twins, in the order of the search; see `Model.twin`."""
    chains: dict[int, list[int]] = {}
    for block, following in enumerate(twin):
        if following >= 0:
            chain = chains.pop(block, [block])
            chain.append(following)
            chains[following] = chain
    return list(chains.values())
