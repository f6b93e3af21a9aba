"""``plan(problem) -> Solution``: one planner by name, or ``auto``, the best of all within a time.

Example
-------
>>> p = Problem((Interval("a", 0, 2, 100, 1), Interval("b", 1, 3, 50, 1)))
>>> s = plan(p)
>>> s.arena_bytes, s.lower_bound, s.optimal
(150, 150, True)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from tvm_megcc.errors import InputError, UnsupportedError
from tvm_megcc.memory import exact, local_search
from tvm_megcc.memory.below import BelowOrder, below_order
from tvm_megcc.memory.flat import Flat, Ints, flatten
from tvm_megcc.memory.orders import ORDERS, greedy, order_of
from tvm_megcc.memory.problem import Problem, Solution, lower_bound, names_at, peak, validate
from tvm_megcc.memory.pushdown import pushdown
from tvm_megcc.memory.storage_allocator import storage_allocator

#: Steps of the inner loops that stand for a second. It is less than what a core does in a second,
#: so that a search ends by its count (which is the same everywhere) before its clock.
WORK_PER_SECOND = 250_000_000


class DoesNotFit(UnsupportedError):
    """No plan within the given bytes was found.

    Attributes
    ----------
    missing_bytes : int
        How many more would do.
    step : int
        The instruction that needs them.
    names : tuple of str
        The blocks that are live there, largest first.
    """

    def __init__(self, message: str, missing_bytes: int, step: int, names: tuple[str, ...]) -> None:
        super().__init__(message)
        self.missing_bytes, self.step, self.names = missing_bytes, step, names


#: Planners without a limit, cheapest first.
SIMPLE: dict[str, Callable[..., Ints]] = {
    **{name: partial(greedy, name=name) for name in ORDERS},
    "pushdown": pushdown,
    "storage-allocator": storage_allocator,
}

#: All names that `plan` takes.
PLANNERS = ("auto", *SIMPLE, "local-search", "exact")


def check_planner(planner: str, time_limit: float) -> None:
    """Raise an `InputError` for an unknown planner or a time limit that makes no sense."""
    if planner not in PLANNERS:
        raise InputError(f"memory planner '{planner}' is unknown; use {', '.join(PLANNERS)}")
    if not time_limit >= 0:
        raise InputError(f"a time limit of {time_limit} seconds; use 0 or more")


def plan(
    problem: Problem,
    planner: str = "auto",
    time_limit: float = 5.0,
    limit: int | None = None,
    *,
    pure: bool = False,
) -> Solution:
    """Place every block of `problem`.

    Parameters
    ----------
    planner : str
        One of `PLANNERS`. ``auto`` runs them cheapest first and stops at the lower bound.
    time_limit : float
        Seconds for the searches (``local-search``, ``exact`` and their part of ``auto``). Work is
        counted, so that the same call gives the same answer; a clock stops what takes much longer.
    limit : int, optional
        Bytes that the arena may have.
    pure : bool
        Never use the C core.

    Raises
    ------
    InputError
        For an unknown planner or a problem that no plan can satisfy.
    DoesNotFit
        When the plan found is larger than `limit`.
    """
    check_planner(planner, time_limit)
    problem.check()
    run = _Run(problem, time_limit, limit, pure)
    if planner == "auto":
        run.auto()
    elif planner == "exact":
        run.start(*ORDERS)
        run.exact()
    elif planner == "local-search":
        run.start(*ORDERS)
        run.local_search(run.best)
    else:
        run.start(planner)
    solution = run.solution(planner)
    validate(problem, solution)
    if limit is not None and solution.arena_bytes > limit:
        raise _does_not_fit(problem, solution, limit)
    return solution


def order(problem: Problem) -> BelowOrder:
    """The relation of the plan that `plan` finds for the sizes in `problem`.

    Raises
    ------
    InputError
        When a block has a fixed offset.
    """
    return below_order(problem, plan(problem).offsets)


class _Run:
    """The best plan so far, and what may still be spent."""

    def __init__(self, problem: Problem, seconds: float, limit: int | None, pure: bool) -> None:
        self.flat: Flat = flatten(problem)
        self.lower_bound = self.bound = lower_bound(problem)
        self.limit, self.pure = limit, pure
        self.work = int(min(seconds, 1e9) * WORK_PER_SECOND)
        self.deadline = time.monotonic() + min(seconds, 1e9)
        self.best: tuple[int, Ints, str] | None = None

    @property
    def is_done(self) -> bool:
        return self.best is not None and self.best[0] <= self.bound

    def offer(self, offsets: Ints, name: str) -> None:
        arena = self.flat.peak(offsets)
        if self.best is None or arena < self.best[0]:
            self.best = arena, offsets, name

    def start(self, *names: str) -> None:
        """Simple planners in turn; the first always runs, the others while there is time."""
        for name in names:
            if self.best is not None and (self.is_done or time.monotonic() > self.deadline):
                return
            self.offer(SIMPLE[name](self.flat, pure=self.pure), name)

    def auto(self) -> None:
        self.start(*ORDERS)
        ordered = self.best
        self.start(*(name for name in SIMPLE if name not in ORDERS))
        if exact.can_search(self.flat, pure=self.pure):
            self.exact()
            # What "local-search" itself begins with: where the exact search runs out of work, the
            # other one may find more.
            self.local_search(ordered)
        else:
            self.local_search(self.best)

    def exact(self) -> None:
        if self.is_done or self.best is None:
            return
        found = exact.improve(
            self.flat, self.best[1], self.bound, self.work, self.deadline,
            limit=self.limit, pure=self.pure,
        )  # fmt: skip
        # windows are beyond the search: what it finds is valid, what it rules out is not
        if not self.flat.has_windows:
            self.bound = max(self.bound, found.bound)
        self.offer(found.offsets, "exact")

    def local_search(self, begin: tuple[int, Ints, str] | None) -> None:
        """Improve the plan `begin`, and offer what is found."""
        if self.is_done or begin is None:
            return
        _, offsets, name = begin
        by_address = np.argsort(offsets, kind="stable")
        order = order_of(self.flat, name) if name in ORDERS else by_address
        found = local_search.improve(
            self.flat, order, self.bound, self.work, self.deadline, pure=self.pure
        )
        self.offer(found, "local-search")

    def solution(self, planner: str) -> Solution:
        assert self.best is not None
        arena, offsets, name = self.best
        return Solution(
            self.flat.spread(offsets), arena, name if planner == "auto" else planner,
            self.lower_bound, arena <= self.bound,
        )  # fmt: skip


def _does_not_fit(problem: Problem, solution: Solution, limit: int) -> DoesNotFit:
    step, need = peak(problem)
    missing = max(need, solution.arena_bytes) - limit
    names = names_at(problem, step)
    least = "at least" if solution.optimal else "best found"
    return DoesNotFit(
        f"the arena takes {solution.arena_bytes} bytes ({least}), {missing} more than the limit of"
        f" {limit}; step {step} is the tightest, with {', '.join(names[:3])} live there",
        missing, step, names,
    )  # fmt: skip
