"""Blocks that stand upon one another: valid for any sizes, never above the limit, near the plan."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models_support import check_blocks
from tvm_megcc.core.program import Call, Kernel, Load, Location, Port, Program, Tensor, sized
from tvm_megcc.dims import Size, Symbol, floordiv, maximum, of
from tvm_megcc.memory import arena_bytes, place, stack

N, H = Symbol("n", 0, 9), Symbol("h", 1, 40)


@st.composite
def sizes(draw: st.DrawFn) -> Size:
    """Elements of a tensor: a few sums and products of the dims."""
    n, h = of(N), of(H)
    forms = [n, h, n * h, n * h * 3 + 5, floordiv(h + 1, 2) * n, maximum(n, h), 7, h * 4, 0]
    return draw(st.sampled_from(forms)) * draw(st.integers(1, 5))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A chain of calls with some values that live on for a while."""
    tensors = [Tensor("x", "f32", (of(N), of(H)), Location("input", 0))]
    calls = []
    for k in range(draw(st.integers(1, 12))):
        tensors.append(Tensor(f"t{k}", "f32", (draw(sizes()),), Location("arena", k)))
        reads = draw(st.sets(st.integers(max(0, k - 3), k), max_size=3))
        calls.append(Call(0, (*sorted(reads), k + 1), 1, name=f"c{k}"))
    return Program(
        "p", "portable", (Port("x", 0),), (Port("y", len(tensors) - 1),), tuple(tensors),
        (Kernel("k"),), tuple(calls), (), symbols=(N, H),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers(0, 9), st.integers(1, 40))
def test_valid_for_any_sizes(program: Program, n: int, h: int) -> None:
    stacked = stack(program, time_limit=0.1)
    values = {"n": n, "h": h}
    check_blocks(stacked, values)
    assert stacked.arena_limit is not None
    arena = arena_bytes(stacked, values)
    assert arena <= stacked.arena_limit
    fixed = place(sized(program, values), time_limit=0.1)
    assert fixed.plan is not None
    assert arena >= fixed.plan.lower_bound


def test_no_limit_without_bounds() -> None:
    open_ended = Symbol("n")
    x = Tensor("x", "f32", (of(open_ended),), Location("input", 0))
    y = Tensor("y", "f32", (of(open_ended),), Location("arena", 0))
    call = Call(0, (0, 1), 1)
    program = Program(
        "p", "portable", (Port("x", 0),), (Port("y", 1),), (x, y), (Kernel("k"),), (call,), (),
        symbols=(open_ended,),
    )  # fmt: skip
    stacked = stack(program)
    assert stacked.arena_limit is None
    assert arena_bytes(stacked, {"n": 100}) == 400
    assert arena_bytes(stacked, {"n": 0}) == 0


@pytest.mark.parametrize("planner", ["greedy-size", "pushdown", "storage-allocator"])
def test_every_planner_gives_an_order(planner: str) -> None:
    tensors = [Tensor("x", "f32", (of(N),), Location("input", 0))]
    tensors += [Tensor(f"t{k}", "f32", (of(N) * (k + 1),), Location("arena", k)) for k in range(4)]
    calls = tuple(Call(0, (k, k + 1), 1) for k in range(4))
    program = Program(
        "p", "portable", (Port("x", 0),), (Port("y", 4),), tuple(tensors), (Kernel("k"),), calls,
        (), symbols=(N,),
    )  # fmt: skip
    stacked = stack(program, planner)
    for n in range(10):
        check_blocks(stacked, {"n": n})


def test_an_input_has_its_size_whoever_reads_it_first() -> None:
    """By the dims that data gives it: those of the input itself are known before."""
    rows = Symbol("rows")
    tensors = (
        Tensor("x", "f32", (12,), Location("arena", 0)),
        Tensor("v", "f32", (of(rows), 3), Location("arena", 0)),
        Tensor("y", "f32", (of(rows), 3), Location("arena", 1)),
        Tensor("count", "i64", (1,), Location("input", 1)),
    )
    calls = (Load(3, (0,)), Call(0, (1, 2), 1))
    program = Program(
        "p", "portable", (Port("x", 0), Port("count", 3)), (Port("y", 2),), tensors, (Kernel("k"),),
        calls, (), symbols=(rows,),
    )  # fmt: skip
    stacked = stack(program)
    assert [s.dynamic for s in stacked.storages] == [False, True]
    assert arena_bytes(stacked, {}) == 48
