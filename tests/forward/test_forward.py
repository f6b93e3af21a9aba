"""Forwarding on hand-made programs: what may share memory, and what may not."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from tvm_megcc.core.program import (
    Call,
    Copy,
    End,
    Kernel,
    Location,
    Loop,
    Port,
    Program,
    Step,
    Tensor,
)
from tvm_megcc.forward import caller_ports, concat_in_place, forward, order, reorder, run_in_place
from tvm_megcc.forward.merging import Storages
from tvm_megcc.memory import place

INPLACE = Kernel("inplace", source="x", inplace=(0, 1))
PLAIN = Kernel("plain", source="x")
CONCAT = Kernel("megcc_concat", template="concat")


def _program(calls: list[Step], shapes: list[tuple[int, ...]], outputs: list[int]) -> Program:
    tensors = [Tensor(f"t{i}", "f32", s, Location("arena", i)) for i, s in enumerate(shapes)]
    return Program(
        "m", "portable", (Port("x", 0),), tuple(Port(f"y{o}", o) for o in outputs),
        tuple(tensors), (INPLACE, PLAIN, CONCAT), tuple(calls), (),
    )  # fmt: skip


def _storages(program: Program) -> list[int]:
    return [t.location.index for t in program.tensors]


def _arena(program: Program) -> int:
    placed = place(program)
    assert placed.arena_bytes is not None
    return placed.arena_bytes


def test_chain_runs_in_one_storage() -> None:
    calls = [Call(1, (0, 1), 1), Call(0, (1, 2), 1), Call(0, (2, 3), 1), Call(1, (3, 4), 1)]
    program = run_in_place(_program(calls, [(64,)] * 5, [4]))
    assert _storages(program) == [0, 1, 1, 1, 4]


def test_an_input_port_is_not_overwritten() -> None:
    program = run_in_place(_program([Call(0, (0, 1), 1)], [(64,)] * 2, [1]))
    assert _storages(program) == [0, 1]


def test_a_value_with_a_later_reader_is_not_overwritten() -> None:
    calls = [Call(1, (0, 1), 1), Call(0, (1, 2), 1), Call(1, (1, 2, 3), 1)]
    assert _storages(run_in_place(_program(calls, [(64,)] * 4, [3]))) == [0, 1, 2, 3]


def test_a_returned_value_is_not_overwritten() -> None:
    calls = [Call(1, (0, 1), 1), Call(0, (1, 2), 1)]
    assert _storages(run_in_place(_program(calls, [(64,)] * 3, [1, 2]))) == [0, 1, 2]


def test_the_second_operand_serves_when_the_first_cannot() -> None:
    calls = [Call(1, (0, 1), 1), Call(1, (0, 2), 1), Call(0, (1, 2, 3), 1), Call(1, (1, 3, 4), 1)]
    program = run_in_place(_program(calls, [(64,)] * 5, [4]))
    assert _storages(program) == [0, 1, 2, 2, 4]


def test_sizes_must_be_equal() -> None:
    calls = [Call(1, (0, 1), 1), Call(0, (1, 2), 1)]
    assert _storages(run_in_place(_program(calls, [(64,), (1,), (64,)], [2]))) == [0, 1, 2]


def test_the_first_rows_of_the_same_storage_forbid_it() -> None:
    # All rows divided by the first one: its own quotient, 1, must not take its place before.
    calls = [
        Call(1, (0, 1), 1),
        Call(0, (1, 2, 3), 1),
        Call(0, (2, 1, 4), 1),
        Call(1, (3, 4, 5), 1),
    ]
    program = _program(calls, [(64,), (64,), (1,), (64,), (64,), (64,)], [5])
    tensors = list(program.tensors)
    tensors[2] = replace(tensors[2], location=Location("arena", 1, 0))
    program = run_in_place(replace(program, tensors=tuple(tensors)))
    assert program.tensors[4].location == Location("arena", 4)
    tensors[2] = replace(tensors[2], shape=(64,))  # all of it, by another name
    program = run_in_place(replace(program, tensors=tuple(tensors)))
    assert program.tensors[4].location == Location("arena", 1)


def test_the_same_storage_read_at_another_place_forbids_it() -> None:
    calls = [Call(1, (0, 1), 1), Call(0, (2, 3, 4), 1)]
    program = _program(calls, [(64,), (128,), (64,), (64,), (64,)], [4])
    tensors = list(program.tensors)
    tensors[2] = replace(tensors[2], location=Location("arena", 1, 0))
    tensors[3] = replace(tensors[3], location=Location("arena", 1, 128))
    program = run_in_place(replace(program, tensors=tuple(tensors)))
    assert program.tensors[4].location == Location("arena", 4)


def test_a_part_of_a_larger_storage_is_not_overwritten() -> None:
    """All of it would live as long as the result."""
    calls = [Call(1, (0, 1), 1), Call(0, (2, 3), 1), Call(1, (3, 4), 1)]
    program = _program(calls, [(64,), (128,), (64,), (64,), (64,)], [4])
    tensors = list(program.tensors)
    tensors[2] = replace(tensors[2], location=Location("arena", 1, 0))
    program = run_in_place(replace(program, tensors=tuple(tensors)))
    assert program.tensors[3].location == Location("arena", 3)


def test_an_operand_that_is_read_elsewhere_too_forbids_it() -> None:
    """Operand 2 is the same tensor, but the kernel may not overwrite what it reads through it."""
    calls = [Call(1, (0, 1), 1), Call(0, (1, 0, 1, 2), 1)]
    assert _storages(run_in_place(_program(calls, [(64,)] * 3, [2]))) == [0, 1, 2]


def test_one_value_in_both_operands_is_overwritten() -> None:
    calls = [Call(1, (0, 1), 1), Call(0, (1, 1, 2), 1)]
    assert _storages(run_in_place(_program(calls, [(64,)] * 3, [2]))) == [0, 1, 1]


def test_concat_of_fresh_parts_disappears() -> None:
    calls = [
        Call(1, (0, 1), 1), Call(1, (0, 2), 1), Call(2, (1, 2, 3), 1, (2, 1, 256, 512)),
        Call(1, (3, 4), 1),
    ]  # fmt: skip
    program = concat_in_place(_program(calls, [(64,), (64,), (128,), (192,), (64,)], [4]), "arena")
    assert len(program.calls) == 3
    assert program.tensors[1].location == Location("arena", 3, 0)
    assert program.tensors[2].location == Location("arena", 3, 256)


def test_concat_stays_where_rows_interleave() -> None:
    calls = [Call(1, (0, 1), 1), Call(1, (0, 2), 1), Call(2, (1, 2, 3), 1, (2, 4, 64, 64))]
    program = _program(calls, [(64,), (64,), (64,), (128,)], [3])
    assert concat_in_place(program, "arena") == program


def test_concat_of_one_value_twice_stays() -> None:
    calls = [Call(1, (0, 1), 1), Call(2, (1, 1, 2), 1, (2, 1, 256, 256))]
    program = _program(calls, [(64,), (64,), (128,)], [2])
    assert concat_in_place(program, "arena") == program


def test_concat_of_an_input_stays() -> None:
    calls = [Call(1, (0, 1), 1), Call(2, (0, 1, 2), 1, (2, 1, 256, 256))]
    program = _program(calls, [(64,), (64,), (128,)], [2])
    assert concat_in_place(program, "arena") == program


def test_concat_of_a_loops_state_stays() -> None:
    """Tensor 1 is the state: it has the next value when the concat, tensor 4, is read."""
    body = [Call(1, (1, 2), 1), Call(1, (1, 3), 1), Call(2, (1, 3, 4), 1, (2, 1, 256, 256))]
    steps = [Copy(1, 0), Loop(6), *body, Copy(1, 2), Call(1, (4, 5), 1), End()]
    shapes = [(64,), (64,), (64,), (64,), (128,), (64,), (2,)]
    program = _program(steps, shapes, [5])
    assert concat_in_place(program, "arena") == program
    kept = replace(program, calls=tuple(s for s in steps if s != Copy(1, 2)))
    assert len(concat_in_place(kept, "arena").calls) == len(kept.calls) - 1


def test_concat_that_would_raise_the_peak_stays() -> None:
    """The large part comes last; placing it early would keep its room through the large middle."""
    calls = [
        Call(1, (0, 1), 1), Call(1, (0, 2), 1), Call(1, (2, 3), 1), Call(1, (3, 4), 1),
        Call(2, (1, 4, 5), 1, (2, 1, 4, 4000)),
    ]  # fmt: skip
    program = _program(calls, [(1,), (1,), (1000,), (1000,), (1000,), (1001,)], [5])
    assert concat_in_place(program, "arena") == program


def test_ports_move_to_the_caller() -> None:
    calls = [Call(1, (0, 1), 1), Call(1, (1, 2), 1)]
    program = caller_ports(_program(calls, [(64,)] * 3, [2]))
    assert program.tensors[0].location == Location("input", 0)
    assert program.tensors[2].location == Location("output", 0)
    assert _arena(program) == 256


def test_a_value_returned_twice_has_one_home() -> None:
    program = caller_ports(_program([Call(1, (0, 1), 1)], [(64,)] * 2, [1, 1]))
    assert program.tensors[1].location == Location("output", 0)


def test_forward_never_needs_more_memory() -> None:
    calls = [Call(1, (0, 1), 1), Call(0, (1, 2), 1), Call(0, (1, 2, 3), 1), Call(0, (3, 4), 1)]
    program = _program(calls, [(64,)] * 5, [4])
    assert _arena(forward(program, io="arena")) <= _arena(program)


def test_reorder_runs_branch_by_branch() -> None:
    """Two branches, each large inside and small at its end, written level by level."""
    calls = [
        Call(1, (0, 1), 1), Call(1, (0, 2), 1), Call(1, (1, 3), 1), Call(1, (2, 4), 1),
        Call(1, (3, 4, 5), 1),
    ]  # fmt: skip
    program = _program(calls, [(1,), (1000,), (1000,), (1,), (1,), (1,)], [5])
    after = reorder(program, "caller")
    assert sorted(after.calls, key=lambda c: c.operands) == sorted(calls, key=lambda c: c.operands)
    assert _arena(after) < _arena(program)
    position = {c.operands[-1]: i for i, c in enumerate(after.calls)}
    for call in after.calls:
        for read in call.operands[:-1]:
            assert position.get(read, -1) < position[call.operands[-1]]


def test_reorder_keeps_a_chain() -> None:
    calls = [Call(1, (i, i + 1), 1) for i in range(6)]
    program = _program(calls, [(64,)] * 7, [6])
    assert reorder(program, "caller") == program


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(3, 9), st.sampled_from(["arena", "caller"]))
def test_reorder_is_exact_on_small_graphs(random, count: int, io: str) -> None:
    shapes = [(random.randint(1, 50) * 16,) for _ in range(count + 1)]
    calls = []
    for number in range(count):
        reads = random.sample(range(number + 1), random.randint(1, min(2, number + 1)))
        calls.append(Call(1, (*reads, number + 1), 1))
    read = {t for c in calls for t in c.operands[:-1]}
    outputs = [t for t in range(1, count + 1) if t not in read]
    program = _program(calls, shapes, outputs)

    def peak(order: tuple[int, ...]) -> int:
        return Storages(replace(program, calls=tuple(calls[i] for i in order))).peak(io)

    def legal(order: tuple[int, ...]) -> bool:
        done = {0}
        for i in order:
            if not set(calls[i].operands[:-1]) <= done:
                return False
            done.add(calls[i].operands[-1])
        return True

    if count > 6:
        assert Storages(reorder(program, io)).peak(io) <= Storages(program).peak(io)
        return
    best = min(peak(o) for o in permutations(range(count)) if legal(o))
    assert Storages(reorder(program, io)).peak(io) == best


def test_reorder_of_a_wide_graph_gives_up_and_keeps_the_order(monkeypatch) -> None:
    """Two hundred branches that are ready at once: more trials than the budget."""
    monkeypatch.setattr(order, "MAX_TRIALS", 5_000)
    count = 200
    calls = [Call(1, (0, 1 + i), 1) for i in range(count)]
    calls += [Call(1, (1 + i, 1 + count + i), 1) for i in range(count)]
    shapes = [(1,), *[(16 + i,) for i in range(count)], *[(32,)] * count]
    program = _program(calls, shapes, [1 + count + i for i in range(count)])
    assert reorder(program, "arena") == program
