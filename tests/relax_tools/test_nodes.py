"""Which nodes of the model a call computes."""

from __future__ import annotations

from tvm_megcc.core.program import Call, Copy, Kernel, Location, Port, Program, Tensor
from tvm_megcc.relax_tools.nodes import Node, attributed

NODES = (
    Node("Conv 'c'", ("x",), ("a",)),
    Node("Relu 'r'", ("a",), ("b",)),
    Node("Reshape 's'", ("b",), ("v",)),
    Node("Softmax 'm'", ("v",), ("y",)),
)


def program(*steps: tuple[type, str, str, str]) -> Program:
    """Steps that read one value and write another, each with a storage of its own."""
    names = list(dict.fromkeys(name for _, _, read, write in steps for name in (read, write)))
    tensors = tuple(Tensor(n, "f32", (4,), Location("arena", k)) for k, n in enumerate(names))
    calls = tuple(
        Call(0, (names.index(read), names.index(write)), 1, name=name)
        if kind is Call
        else Copy(names.index(write), names.index(read), name=name)
        for kind, name, read, write in steps
    )
    return Program(
        "m", "portable", (Port("x", 0),), (Port("y", len(names) - 1),), tensors, (Kernel("k"),),
        calls, (),
    )  # fmt: skip


def nodes_of(found: Program) -> list[tuple[str, ...]]:
    return [step.nodes for step in found.calls if isinstance(step, Call)]


def test_a_call_has_all_nodes_up_to_other_calls() -> None:
    found = attributed(program((Call, "b", "x", "b"), (Call, "y", "b", "y")), NODES)
    assert nodes_of(found) == [("Conv 'c'", "Relu 'r'"), ("Reshape 's'", "Softmax 'm'")]


def test_a_part_of_an_operator_counts_to_who_reads_it() -> None:
    steps = (Call, "lv", "x", "lv"), (Call, "lv1", "lv", "lv1"), (Call, "b", "lv1", "b")
    assert nodes_of(attributed(program(*steps), NODES)) == 3 * [("Conv 'c'", "Relu 'r'")]


def test_a_copy_hands_on() -> None:
    steps = (Call, "lv", "x", "lv"), (Copy, "", "lv", "state"), (Call, "b", "state", "b")
    assert nodes_of(attributed(program(*steps), NODES)) == 2 * [("Conv 'c'", "Relu 'r'")]


def test_what_nobody_reads_has_no_node() -> None:
    found = attributed(program((Call, "b", "x", "b"), (Call, "lv", "b", "lv")), NODES)
    assert nodes_of(found)[1] == ()


def test_no_nodes_no_change() -> None:
    found = program((Call, "b", "x", "b"))
    assert attributed(found, ()) is found
