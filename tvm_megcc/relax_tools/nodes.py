"""Nodes of an ONNX model on their way through the compiler: which of them a call computes.

Enters: the model's nodes, from the frontend, with the names of what they read and write. Leaves: a
program whose calls say which nodes they are. On the way they are an attribute of the module.

A call computes a value of the model and all nodes that lead to it from values of other calls: a
convolution, its bias, its activation. A call that computes no value of the model (a transposition,
a part of an operator, a check of indices) counts to the node whose call reads its result.

Example
-------
>>> import tvm
>>> nodes_of(with_nodes(tvm.IRModule(), [Node("Relu 'r'", ("x",), ("y",))]))
(Node(label="Relu 'r'", reads=('x',), writes=('y',)),)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tvm_megcc.core.program import Call, Check, Location, Program, Step, ends_of
from tvm_megcc.relax_tools.attributes import read, written

if TYPE_CHECKING:
    import tvm

ATTRIBUTE = "tvm_megcc.nodes"


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its label in messages, and the values that it reads and writes."""

    label: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]


def with_nodes(mod: tvm.IRModule, nodes: Iterable[Node]) -> tvm.IRModule:
    """Note in the module the nodes that it was made of, in order."""
    rows = [[node.label, node.reads, node.writes] for node in nodes]
    return written(mod, ATTRIBUTE, rows) if rows else mod


def nodes_of(mod: tvm.IRModule) -> tuple[Node, ...]:
    """The nodes that `with_nodes` noted."""
    rows = read(mod, ATTRIBUTE) or ()
    return tuple(Node(label, tuple(reads), tuple(writes)) for label, reads, writes in rows)


def attributed(program: Program, nodes: Sequence[Node]) -> Program:
    """Add to each call of a program with the model's names the labels of its nodes."""
    if not nodes:
        return program
    made = [_values(program, step) for step in program.calls]
    writer = {value: k for k, node in enumerate(nodes) for value in node.writes}
    checked = {node.label: {k} for k, node in enumerate(nodes)}
    ends = frozenset[str]().union(*made)
    found = [
        checked.get(step.name, set())
        if isinstance(step, Check)
        else _behind(values, ends, nodes, writer)
        for step, values in zip(program.calls, made, strict=True)
    ]
    readers = _readers(program)
    for number, step in reversed([*enumerate(program.calls)]):
        if not found[number]:
            places = _places(program, ends_of(step)[1])
            later = [n for place in places for n in readers.get(place, ()) if n > number]
            found[number] = next((found[n] for n in sorted(later) if found[n]), set())
    labels = [tuple(nodes[k].label for k in sorted(numbers)) for numbers in found]
    steps = (
        replace(step, nodes=names) if isinstance(step, Call) else step
        for step, names in zip(program.calls, labels, strict=True)
    )
    return replace(program, calls=tuple(steps))


def _values(program: Program, step: Step) -> frozenset[str]:
    """Names of a call and of the tensors that it writes."""
    if not isinstance(step, Call):
        return frozenset()
    return frozenset({step.name, *(program.tensors[t].name for t in step.writes)})


def _behind(
    values: Iterable[str], ends: frozenset[str], nodes: Sequence[Node], writer: Mapping[str, int]
) -> set[int]:
    """Numbers of the nodes that compute `values` from `ends`, the values of other calls."""
    found: set[int] = set()
    waiting = list(values)
    while waiting:
        number = writer.get(waiting.pop())
        if number is not None and number not in found:
            found.add(number)
            waiting += [value for value in nodes[number].reads if value not in ends]
    return found


def _readers(program: Program) -> dict[Location, list[int]]:
    """Place -> numbers of the steps that read it, in order."""
    found: dict[Location, list[int]] = {}
    for number, step in enumerate(program.calls):
        for place in _places(program, ends_of(step)[0]):
            found.setdefault(place, []).append(number)
    return found


def _places(program: Program, tensors: Iterable[int]) -> set[Location]:
    """Locations of tensors; views have that of their tensor."""
    return {replace(program.tensors[t].location, offset=0) for t in tensors}
