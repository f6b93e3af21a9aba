"""Loops that append to a sequence, however many iterations there are.

Enters: a Loop with a sequence as state, to whose end each iteration puts one tensor. Leaves: the
same Loop giving those tensors by rows, and in place of the sequence a `Rows`.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from .graphs import body_of, node_reads
from .sequences import Rows, TensorList, Value


def split(
    node: onnx.NodeProto, states: Sequence[Value | None]
) -> tuple[onnx.NodeProto, list[int]] | None:
    """A Loop that gives rows in place of sequences, and which states they are; None without any.

    The rows are its last outputs, in the order of the states.
    """
    body = body_of(node)
    appends = {
        k: append
        for k, state in enumerate(states)
        if isinstance(state, TensorList) and (append := _append(body, k)) is not None
    }
    if not appends:
        return None
    made = onnx.NodeProto()
    made.CopyFrom(node)
    changed = body_of(made)
    nodes = [n for n in body.node if all(n is not append for append in appends.values())]
    del changed.node[:]
    changed.node.extend(nodes)
    outputs = list(node.output) + [""] * (len(body.output) - 1 - len(node.output))
    del made.input[:], made.output[:], changed.input[:], changed.output[:]
    kept = [k for k in range(len(states)) if k not in appends]
    made.input.extend([*node.input[:2], *(node.input[2 + k] for k in kept)])
    changed.input.extend([*body.input[:2], *(body.input[2 + k] for k in kept)])
    changed.output.extend([body.output[0], *(body.output[1 + k] for k in kept)])
    changed.output.extend(body.output[1 + len(states) :])
    changed.output.extend(onnx.ValueInfoProto(name=a.input[1]) for a in appends.values())
    made.output.extend([*(outputs[k] for k in kept), *outputs[len(states) :]])
    made.output.extend(f"{node.name or 'loop'}_rows_{k}" for k in appends)
    return made, list(appends)


def _append(body: onnx.GraphProto, state: int) -> onnx.NodeProto | None:
    """The node that puts a tensor to the end of a state, where nothing else uses the state."""
    given, result = body.input[2 + state].name, body.output[1 + state].name
    readers = [node for node in body.node if given in node_reads(node)]
    others = [node for node in body.node if result in node_reads(node)]
    if len(readers) != 1 or others or given in {port.name for port in body.output}:
        return None
    (node,) = readers
    appends = (
        node.op_type == "SequenceInsert"
        and not node.domain
        and node.input[0] == given
        and list(node.input).count(given) == 1
        and (len(node.input) < 3 or not node.input[2])
        and node.output[0] == result
        and sum(port.name == result for port in body.output) == 1
    )
    return node if appends else None


def together(
    results: Sequence[Value], states: Sequence[Value | None], which: Sequence[int]
) -> list[Value]:
    """The results of the first Loop from those of the one that `split` made."""
    kept, rows = list(results[: len(results) - len(which)]), results[len(results) - len(which) :]
    found: list[Value] = []
    for k, state in enumerate(states):
        if k in which:
            assert isinstance(state, TensorList)
            found.append(Rows(state.items, rows[which.index(k)]))
        else:
            found.append(kept.pop(0))
    return [*found, *kept]
