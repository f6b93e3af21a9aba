"""If, Loop and Scan by ONNX's text, node by node, where `onnx.reference` does something else.

The reference (onnx 1.23) joins a Loop's rows instead of stacking them, never begins a Loop without
a condition, and has no Scan that goes backwards, by other axes, or of no rows. Here the nodes of
the body are evaluated one by one, by whatever evaluates the graph; bodies in bodies, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

Array = np.ndarray
Evaluate = Callable[[onnx.NodeProto, Mapping[str, int], Mapping[str, Array]], list[Array]]
#: Initialisers as the evaluation has numbers.
Enter = Callable[[Array], Array]
#: (number, condition, states and rows of operands) -> all outputs of the body.
_Step = Callable[[Sequence[Array]], list[Array]]

#: Nobody waits for a loop of more.
MOST_ITERATIONS = 1000


class Endless(Exception):
    """A loop does not end, or not soon."""


class Unseen(Exception):
    """Of what shape the rows are that a body gives which never runs is not known."""


def if_(
    node: onnx.NodeProto, opsets: Mapping[str, int], arrays: Mapping[str, Array],
    evaluate: Evaluate, enter: Enter,
) -> list[Array]:  # fmt: skip
    """The outputs of an If: those of the branch that its condition chooses."""
    holds = bool(arrays[node.input[0]].reshape(-1)[0])
    body = _attributes(node)["then_branch" if holds else "else_branch"]
    return _step(body, opsets, arrays, evaluate, enter)([])


def loop(
    node: onnx.NodeProto, opsets: Mapping[str, int], arrays: Mapping[str, Array],
    evaluate: Evaluate, enter: Enter,
) -> list[Array]:  # fmt: skip
    """The outputs of a Loop: its states after the last iteration, then its rows.

    The body's condition counts also where the node is given none, as ONNX Runtime and the reference
    have it. Rows that nobody made have the dims that the first iteration would have given: ONNX's
    shape inference says so, and its text nothing.
    """
    body = _attributes(node)["body"]
    count, condition, *states = [*(_read(arrays, n) for n in node.input), None, None][
        : max(len(node.input), 2)
    ]
    step = _step(body, opsets, arrays, evaluate, enter)
    shape = tuple(d.dim_value for d in body.input[0].type.tensor_type.shape.dim)
    most = MOST_ITERATIONS + 1 if count is None else int(count.reshape(-1)[0])
    holds = condition is None or bool(condition.reshape(-1)[0])
    rows: list[list[Array]] = [[] for _ in body.output[1 + len(states) :]]
    done = 0
    while holds and done < most:
        if done == MOST_ITERATIONS:
            raise Endless
        number, going = np.full(shape, done, np.int64), np.array(True)
        flag, *found = step([number, going, *states])
        holds, states = bool(flag.reshape(-1)[0]), found[: len(states)]
        for column, row in zip(rows, found[len(states) :], strict=True):
            column.append(row)
        done += 1
    if done == 0 and rows:
        made = step([np.zeros(shape, np.int64), np.array(True), *states])[1 + len(states) :]
        return [*states, *(np.zeros((0, *row.shape), row.dtype) for row in made)]
    return [*states, *(np.stack(column) for column in rows)]


def scan(
    node: onnx.NodeProto, opsets: Mapping[str, int], arrays: Mapping[str, Array],
    evaluate: Evaluate, enter: Enter,
) -> list[Array]:  # fmt: skip
    """The outputs of a Scan of opset 9 or later: its states, then its rows."""
    attrs = _attributes(node)
    body, count = attrs["body"], attrs["num_scan_inputs"]
    operands = [arrays[name] for name in node.input]
    states, wholes = operands[: len(operands) - count], operands[len(operands) - count :]
    step = _step(body, opsets, arrays, evaluate, enter)

    def said(name: str, number: int) -> int:
        return attrs.get(name, [0] * (number + 1))[number]

    columns = [
        np.moveaxis(whole, said("scan_input_axes", k), 0)[
            :: -1 if said("scan_input_directions", k) else 1
        ]
        for k, whole in enumerate(wholes)
    ]
    rows: list[list[Array]] = [[] for _ in body.output[len(states) :]]
    for given in zip(*columns, strict=True):
        found = step([*states, *given])
        states = found[: len(states)]
        for column, row in zip(rows, found[len(states) :], strict=True):
            column.append(row)
    if columns[0].shape[0] == 0:
        empty = [np.zeros(c.shape[1:], c.dtype) for c in columns]
        try:
            row = step([*states, *empty])[len(states) :]
        except Exception as error:  # a fault in it is none of the node's: no iteration runs it
            raise Unseen(str(error)) from error
        made = [r[None][:0] for r in row]
    else:
        made = [
            np.stack(column[:: -1 if said("scan_output_directions", k) else 1])
            for k, column in enumerate(rows)
        ]
    return [
        *states,
        *(np.moveaxis(whole, 0, said("scan_output_axes", k)) for k, whole in enumerate(made)),
    ]


def _step(
    body: onnx.GraphProto, opsets: Mapping[str, int], arrays: Mapping[str, Array],
    evaluate: Evaluate, enter: Enter,
) -> _Step:  # fmt: skip
    weights = {w.name: enter(numpy_helper.to_array(w)) for w in body.initializer}

    def step(given: Sequence[Array]) -> list[Array]:
        values = {**arrays, **weights}
        values |= {port.name: array for port, array in zip(body.input, given, strict=True)}
        for inner in body.node:
            names = [name for name in inner.output if name]
            values.update(zip(names, evaluate(inner, opsets, values), strict=True))
        return [values[port.name] for port in body.output]

    return step


def _attributes(node: onnx.NodeProto) -> dict[str, object]:
    return {attr.name: helper.get_attribute_value(attr) for attr in node.attribute}


def _read(arrays: Mapping[str, Array], name: str) -> Array | None:
    return arrays[name] if name else None


#: What is evaluated here.
BODIES = {"If": if_, "Loop": loop, "Scan": scan}


def has_lists(node: onnx.NodeProto) -> bool:
    """Whether a node's bodies have sequences or optionals: values that are no arrays."""
    return any(
        "Optional" in inner.op_type
        or ("Sequence" in inner.op_type and inner.op_type != "ReverseSequence")
        or has_lists(inner)
        for attr in node.attribute
        for inner in attr.g.node
    )
