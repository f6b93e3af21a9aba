"""The order for symbolic sizes: from any plan, for any sizes, never an overlap."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.problems import free_problems, gapped, problems
from tvm_megcc.errors import InputError
from tvm_megcc.memory import (
    Interval,
    Problem,
    Solution,
    addresses,
    below_order,
    order,
    plan,
    validate,
    validate_order,
)
from tvm_megcc.memory.below import BelowOrder
from tvm_megcc.memory.flat import flatten
from tvm_megcc.memory.pushdown import simulated_order


def _resized(problem: Problem, sizes: list[int]) -> Problem:
    """The same lives with other sizes; windows mean nothing there, so they count as live."""
    return Problem(
        tuple(
            Interval(b.name, b.first, b.last, size, b.alignment, None,
                     tuple(g for g in b.gaps if g.window is None))
            for b, size in zip(problem.intervals, sizes, strict=True)
        )
    )  # fmt: skip


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_addresses_never_overlap_whatever_the_sizes(data: st.DataObject) -> None:
    rows = data.draw(st.lists(gapped, max_size=14))
    problem = Problem(tuple(rows))
    relation = below_order(problem, plan(problem, "auto", 0.1).offsets)
    validate_order(_resized(problem, [b.size for b in rows]), relation)
    for _ in range(3):
        sizes = data.draw(st.lists(st.integers(0, 500), min_size=len(rows), max_size=len(rows)))
        offsets, arena = addresses(relation, sizes)
        validate(_resized(problem, sizes), Solution(offsets, arena, "order"))


@settings(max_examples=100, deadline=None)
@given(free_problems)
def test_addresses_of_the_planned_sizes_are_no_worse(problem: Problem) -> None:
    solution = plan(problem, "auto", 0.1)
    sizes = [b.size for b in problem.intervals]
    assert addresses(below_order(problem, solution.offsets), sizes)[1] <= solution.arena_bytes


@settings(max_examples=100, deadline=None)
@given(free_problems)
def test_pushdown_simulation_leaves_a_valid_order(problem: Problem) -> None:
    flat = flatten(problem)
    live = Problem(tuple(problem.intervals[k] for k in flat.index.tolist()))
    validate_order(live, simulated_order(flat))


def test_order_has_few_pairs() -> None:
    problem = Problem(tuple(Interval(f"t{k}", 0, 9, 64) for k in range(50)))
    assert sum(map(len, order(problem).below)) == 49


@settings(max_examples=60, deadline=None)
@given(problems)
def test_validate_order_refuses_a_broken_chain(problem: Problem) -> None:
    free = _resized(problem, [b.size for b in problem.intervals])
    relation = below_order(free, plan(free, "auto", 0.1).offsets)
    pairs = [(over, under) for over, row in enumerate(relation.below) for under in row]
    for over, under in pairs[:8]:
        below = list(relation.below)
        below[over] = tuple(b for b in below[over] if b != under)
        broken = BelowOrder(relation.sequence, tuple(below), relation.alignments)
        huge = [1 << 20] * len(free.intervals)
        offsets, arena = addresses(broken, huge)
        try:
            validate_order(free, broken)
        except ValueError:
            continue
        # the pair was implied by the others: then nothing can overlap without it either
        validate(_resized(free, huge), Solution(offsets, arena, "broken"))


def test_validate_order_refuses_wrong_sequences() -> None:
    problem = Problem((Interval("a", 0, 2, 64), Interval("b", 1, 3, 64)))
    right = order(problem)
    validate_order(problem, right)
    for wrong in (
        BelowOrder((0, 0), right.below, right.alignments),
        BelowOrder(right.sequence[::-1], right.below, right.alignments),
        BelowOrder(right.sequence, ((), ()), right.alignments),
        BelowOrder(right.sequence, right.below, (1, 1)),
    ):
        with pytest.raises(ValueError):
            validate_order(problem, wrong)


def test_order_refuses_fixed_blocks() -> None:
    with pytest.raises(InputError, match="'a' is fixed at 64"):
        order(Problem((Interval("a", 0, 1, 64, 64, 64),)))


def test_addresses_refuse_the_wrong_number_of_sizes() -> None:
    with pytest.raises(InputError, match="2 sizes for an order of 1"):
        addresses(order(Problem((Interval("a", 0, 1, 64),))), (1, 2))
