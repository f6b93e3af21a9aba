"""Every planner on random problems: valid, never below the bound, the same twice, C or Python."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.problems import (
    alike,
    brute_force,
    free_problems,
    problems,
    scattered,
    small_problems,
    with_fixed,
)
from tvm_megcc.errors import InputError
from tvm_megcc.memory import (
    PLANNERS,
    DoesNotFit,
    Interval,
    Problem,
    Solution,
    branch,
    branch_model,
    exact,
    firstfit,
    lower_bound,
    native,
    plan,
    portfolio,
    validate,
)
from tvm_megcc.memory.flat import flatten
from tvm_megcc.memory.pushdown import simulated_order
from tvm_megcc.memory.storage_allocator import storages

#: A clock that never strikes here, for a little counted work (see `little_work`).
SECONDS = 30.0
SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "planner"


@pytest.fixture(autouse=True, scope="module")
def little_work() -> Iterator[None]:
    """Searches end by their count, which is the same on every machine, and soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(portfolio, "WORK_PER_SECOND", 1_000_000)
        yield


@pytest.mark.parametrize("planner", PLANNERS)
@settings(max_examples=40, deadline=None)
@given(problem=problems)
def test_planner_is_valid_and_not_below_the_bound(planner: str, problem: Problem) -> None:
    solution = plan(problem, planner, SECONDS)
    validate(problem, solution)
    assert solution.lower_bound == lower_bound(problem)
    assert solution.arena_bytes >= solution.lower_bound
    assert solution.optimal or solution.arena_bytes > solution.lower_bound
    assert solution == plan(problem, planner, SECONDS)


@settings(max_examples=60, deadline=None)
@given(small_problems)
def test_exact_is_the_best_there_is(problem: Problem) -> None:
    solution = plan(problem, "exact", 600.0)
    assert solution.optimal
    assert solution.arena_bytes == brute_force(problem)


@settings(max_examples=60, deadline=None)
@given(with_fixed().filter(lambda p: 0 < len([b for b in p.intervals if b.is_live]) <= 6))
def test_exact_is_the_best_there_is_around_fixed_blocks(problem: Problem) -> None:
    live = Problem(tuple(b for b in problem.intervals if b.is_live))
    solution = plan(live, "exact", 600.0)
    assert solution.optimal
    assert solution.arena_bytes == brute_force(live)


@pytest.mark.slow
def test_exact_is_the_best_there_is_of_blocks_that_are_alike() -> None:
    wrong = {}
    for seed in range(2_000):
        problem = alike(seed)
        solution = plan(problem, "exact", 600.0)
        validate(problem, solution)
        best = brute_force(problem)
        if not solution.optimal or solution.arena_bytes != best:
            wrong[seed] = (solution.arena_bytes, best)
    assert not wrong


@pytest.mark.parametrize("question", [name for name, _ in exact.QUESTIONS])
def test_ranks_increase_along_twins_of_other_spans(question: str) -> None:
    # Both are live at the only moment that counts, so they are equal to the search.
    problem = Problem(
        (Interval("a", 0, 3, 2, 2), Interval("b", 0, 3, 3, 2), Interval("c", 0, 1, 2, 2))
    )
    model = branch_model.build(flatten(problem))
    lower, upper = next((b, t) for b, t in enumerate(model.twin.tolist()) if t >= 0)
    assert model.span[lower] != model.span[upper]
    for seed in range(20):
        ranks = exact.rank(model, question, random.Random(seed))
        assert sorted(ranks.tolist()) == list(range(model.n))
        assert ranks[lower] < ranks[upper]


@settings(max_examples=25, deadline=None)
@given(free_problems)
def test_no_planner_beats_auto(problem: Problem) -> None:
    best = plan(problem, "auto", SECONDS)
    assert all(plan(problem, p, SECONDS).arena_bytes >= best.arena_bytes for p in PLANNERS)


@pytest.mark.skipif(
    not any(map(shutil.which, native.COMPILERS)), reason="no C compiler on this machine"
)
def test_core_is_there_when_a_compiler_is() -> None:
    assert native.core() is not None


@settings(max_examples=60, deadline=None)
@given(problems, st.sampled_from(["first", "best"]), st.randoms(use_true_random=False))
def test_placing_is_the_same_in_c_and_in_python(
    problem: Problem, fit: firstfit.Fit, chance: random.Random
) -> None:
    flat = flatten(problem)
    order = np.array(chance.sample(range(flat.n), flat.n), dtype=np.int64)
    assert (
        firstfit.place(flat, order, fit).tolist()
        == firstfit.place(flat, order, fit, pure=True).tolist()
    )


@settings(max_examples=60, deadline=None)
@given(problems, st.booleans(), st.integers(0, 3))
def test_search_is_the_same_in_c_and_in_python(problem: Problem, tightest: bool, more: int) -> None:
    flat = flatten(problem)
    if not flat.n:
        return
    model = branch_model.build(flat)
    rank = exact.rank(model, exact.QUESTIONS[more][0], random.Random(3))
    cap = lower_bound(problem) + more * model.step
    attempt = branch_model.Attempt(cap, rank, tightest, 60_000)
    fast, slow = branch.search(model, attempt, 60.0), branch.search(model, attempt, 60.0, pure=True)
    assert (fast.verdict, fast.nodes, fast.work) == (slow.verdict, slow.nodes, slow.work)
    assert fast.offsets.tolist() == slow.offsets.tolist()
    if fast.verdict == "solved":
        arena = flat.peak(fast.offsets)
        validate(problem, Solution(flat.spread(fast.offsets), arena, "search"))
        assert arena <= cap


@settings(max_examples=15, deadline=None)
@given(small_problems)
def test_plan_is_the_same_without_a_compiler(problem: Problem) -> None:
    assert plan(problem, "auto", SECONDS) == plan(problem, "auto", SECONDS, pure=True)


@pytest.mark.slow
def test_plan_without_a_compiler_takes_large_problems() -> None:
    problem = scattered(600, 1)
    solution = plan(problem, "auto", 10.0, pure=True)
    assert solution.ratio < 1.3


def test_plan_of_nothing_is_empty() -> None:
    for planner in PLANNERS:
        assert plan(Problem(()), planner) == Solution(
            (), 0, plan(Problem(()), planner).planner, 0, True
        )


def test_plan_refuses_unknown_planners_and_times() -> None:
    with pytest.raises(InputError, match="'magic' is unknown; use auto"):
        plan(Problem(()), "magic")
    for seconds in (-1.0, float("nan")):
        with pytest.raises(InputError, match="time limit"):
            plan(Problem(()), "auto", seconds)


def test_plan_above_the_limit_says_what_is_missing_and_where() -> None:
    problem = Problem((Interval("a", 0, 2, 128), Interval("b", 1, 4, 256), Interval("c", 3, 5, 64)))
    assert plan(problem, limit=384).arena_bytes == 384
    with pytest.raises(DoesNotFit, match="84 more than the limit of 300; step 1") as caught:
        plan(problem, limit=300)
    assert (caught.value.missing_bytes, caught.value.step) == (84, 1)
    assert caught.value.names == ("b", "a")


def test_pushdown_takes_the_smallest_free_chunk_and_grows_the_largest() -> None:
    problem = Problem(
        (
            Interval("a", 0, 1, 64), Interval("b", 0, 4, 64), Interval("c", 0, 1, 128),
            Interval("d", 1, 4, 64),  # into a's chunk, not c's
            Interval("e", 1, 4, 256),  # c's chunk grows
        )
    )  # fmt: skip
    order = simulated_order(flatten(problem))
    assert order.below == ((), (0, 3), (1,), (), (1,))
    assert plan(problem, "pushdown").offsets == (0, 64, 128, 0, 128)


def test_storage_allocator_reuses_within_sixteen_times() -> None:
    problem = Problem(
        (
            Interval("a", 0, 1, 1024, 1), Interval("b", 0, 1, 16, 1),
            Interval("c", 1, 2, 63, 1),  # a is more than 16 times as large: b grows
            Interval("d", 2, 3, 64, 1),  # a is 16 times as large; of both, the smallest above: a
            Interval("e", 3, 4, 40000, 1),  # neither is a sixteenth: a new one
        )
    )  # fmt: skip
    token, sizes = storages(flatten(problem))
    assert (token, sizes) == ([0, 1, 1, 0, 2], [1024, 63, 40000])


@pytest.mark.slow
def test_twenty_thousand_blocks_are_planned_and_valid() -> None:
    problem = scattered(20_000, 2)
    started = time.process_time()
    solution = plan(problem, "auto", 10.0)
    assert solution.ratio < 1.05
    print(f"20,000 blocks: {solution.ratio:.4f}, {time.process_time() - started:.1f} s")


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared planner benchmarks are not here")
@pytest.mark.parametrize("name", ["B", "C", "F"])
def test_exact_solves_the_benchmarks_that_are_quick(name: str) -> None:
    problem = Problem.from_csv(SHARED / f"{name}.1048576.csv")
    solution = plan(problem, "exact", 600.0)
    assert solution.optimal
    assert solution.arena_bytes == {"B": 1_048_576, "C": 1_039_360, "F": 1_048_576}[name]
