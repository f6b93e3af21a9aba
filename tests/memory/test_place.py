"""Memory: the planners against the validator, the lower bound and each other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tvm_megcc.memory import Interval, Problem, Solution, lower_bound, place, plan, validate
from tvm_megcc.memory.greedy import ORDERS, plan_in_order
from tvm_megcc.program import Call, Kernel, Location, Port, Program, Tensor

intervals = st.builds(
    lambda first, length, size, power: Interval("t", first, first + length, size, 1 << power),
    st.integers(0, 20),
    st.integers(0, 10),
    st.integers(0, 300),
    st.integers(0, 7),
)
problems = st.lists(intervals, max_size=25).map(lambda rows: Problem(tuple(rows)))


@settings(max_examples=150, deadline=None)
@given(problems)
def test_plan_is_valid_and_not_below_the_bound(problem: Problem) -> None:
    bound = lower_bound(problem)
    for order in ORDERS:
        solution = plan_in_order(problem, order)
        validate(problem, solution)
        assert solution.arena_bytes >= bound
        assert solution == plan_in_order(problem, order)
    assert plan(problem).arena_bytes == min(
        plan_in_order(problem, o).arena_bytes for o in ORDERS
    ) or plan(problem).arena_bytes == bound


def test_validate_refuses_overlap() -> None:
    problem = Problem((Interval("a", 0, 2, 100), Interval("b", 1, 3, 50)))
    with pytest.raises(ValueError, match="overlap"):
        validate(problem, Solution((0, 64), 200, "wrong"))


def test_validate_refuses_misaligned() -> None:
    problem = Problem((Interval("a", 0, 2, 100),))
    with pytest.raises(ValueError, match="multiple"):
        validate(problem, Solution((8,), 200, "wrong"))


def test_validate_refuses_outside() -> None:
    problem = Problem((Interval("a", 0, 2, 100),))
    with pytest.raises(ValueError, match="outside"):
        validate(problem, Solution((0,), 99, "wrong"))


def test_validate_takes_touching_lifetimes() -> None:
    problem = Problem((Interval("a", 0, 2, 64), Interval("b", 2, 3, 64)))
    validate(problem, Solution((0, 0), 64, "shared"))


def _chain(length: int) -> Program:
    """x -> t1 -> t2 ... each of 256 bytes."""
    tensors = [Tensor(f"t{i}", "f32", (64,), Location("arena", i)) for i in range(length + 1)]
    calls = [Call(0, (i, i + 1), 1, name=f"n{i}") for i in range(length)]
    return Program(
        "chain", "portable", (Port("x", 0),), (Port("y", length),), tuple(tensors),
        (Kernel("k", source="void k(void);"),), tuple(calls), (),
    )  # fmt: skip


def test_place_reuses_dead_tensors() -> None:
    placed = place(_chain(6))
    assert placed.arena_bytes == 512
    offsets = [t.location.offset for t in placed.tensors]
    assert all(a != b for a, b in zip(offsets, offsets[1:], strict=False))


def test_place_keeps_views_inside_their_storage() -> None:
    program = _chain(2)
    view = Tensor("view", "f32", (32,), Location("arena", 1, 128))
    program = Program(
        "v", "portable", program.inputs, (Port("y", 3),), (*program.tensors, view),
        program.kernels, program.calls[:1], (),
    )  # fmt: skip
    placed = place(program)
    base = placed.tensors[1].location.offset
    assert placed.tensors[3].location.offset == base + 128
    assert placed.arena_bytes == 512


def test_place_is_deterministic() -> None:
    assert place(_chain(9)) == place(_chain(9))
