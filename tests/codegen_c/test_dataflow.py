"""Who wrote the bytes that a call reads: views, in place, copies, parts."""

from __future__ import annotations

from tvm_megcc.codegen_c.emit.dataflow import sources
from tvm_megcc.core.program import Call, Copy, Kernel, Location, Port, Program, Step, Tensor


def program(tensors: list[tuple[int, int]], *steps: Step) -> Program:
    """Bytes [offset, offset + size) of the arena for each tensor; the first one is the input."""
    made = (
        Tensor("x", "u8", (tensors[0][1],), Location("input", 0)),
        *(Tensor(f"t{k}", "u8", (n,), Location("arena", 0, at)) for k, (at, n) in
          enumerate(tensors[1:], 1)),
    )  # fmt: skip
    ports = (Port("x", 0),), (Port("y", len(made) - 1),)
    return Program("m", "portable", *ports, made, (Kernel("k"),), steps, ())


def call(*operands: int) -> Call:
    return Call(0, operands, 1)


def test_a_residual_is_read_twice() -> None:
    found = program([(0, 8), (0, 8), (8, 8), (16, 8)], call(0, 1), call(1, 2), call(1, 2, 3))
    assert sources(found) == [[-1], [0], [0, 1]]


def test_a_view_is_what_it_lies_on() -> None:
    found = program([(0, 8), (0, 8), (4, 4), (8, 4)], call(0, 1), call(2, 3))
    assert sources(found) == [[-1], [0]]


def test_parts_come_from_several_calls() -> None:
    tensors = [(0, 8), (0, 4), (4, 4), (0, 8), (8, 8)]
    found = program(tensors, call(0, 1), call(0, 2), call(3, 4))
    assert sources(found) == [[-1], [-1], [0, 1]]


def test_what_is_written_over_is_forgotten() -> None:
    tensors = [(0, 8), (0, 8), (0, 8), (8, 8)]
    found = program(tensors, call(0, 1), call(1, 2), call(1, 3))  # the second one works in place
    assert sources(found) == [[-1], [0], [1]]


def test_a_part_that_is_written_over_leaves_the_rest() -> None:
    tensors = [(0, 8), (0, 8), (2, 4), (0, 8), (8, 8)]
    found = program(tensors, call(0, 1), call(0, 2), call(3, 4))
    assert sources(found) == [[-1], [-1], [0, 1]]


def test_a_copy_hands_on_and_is_no_call() -> None:
    tensors = [(0, 8), (0, 8), (8, 8), (16, 8)]
    found = program(tensors, call(0, 1), Copy(2, 1), call(2, 3))
    assert sources(found) == [[-1], [0], [0]]
