"""Loops whose states have another rank before the first iteration than after it.

Enters: a Loop that surely runs once. Leaves: its first iteration, converted where the Loop stands,
and the Loop of the rest. Frameworks export what a loop only writes with whatever stood there
before: a scalar 0.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper
from tvm import relax

from .graphs import body_of
from .sequences import Value
from .state import Importer, Scope

Convert = Callable[[Importer, onnx.NodeProto, Sequence[Value | None], Scope], list[Value]]


def can_peel(count: Value | None, started: Value | None) -> bool:
    """Whether a Loop's operands say that there is an iteration."""
    return all(
        value is None or (isinstance(value, np.ndarray) and int(value.reshape(-1)[0]) >= 1)
        for value in (count, started)
    )


def peeled(
    importer: Importer,
    node: onnx.NodeProto,
    values: Sequence[Value | None],
    scope: Scope,
    convert: Convert,
) -> list[Value]:
    """Convert a Loop that `can_peel`: its first iteration; the Loop of the rest by `convert`."""
    body = body_of(node)
    count, _, *states = values
    first, condition, *names = (port.name for port in body.input)
    rank = len(body.input[0].type.tensor_type.shape.dim)
    known: dict[str, Value] = {first: np.zeros((1,) * rank, np.int64), condition: np.array(True)}
    known |= zip(names, states, strict=True)
    flag, *found = importer.branch(body, ChainMap(known, scope)) or [None]
    if importer.missing:
        return []
    left = np.asarray(count - 1) if isinstance(count, np.ndarray) else None
    rest = convert(importer, _of_rest(node), [left, flag, *found[: len(names)]], scope)
    if not rest:
        return []
    return [
        *rest[: len(names)],
        *map(_before(importer, node), found[len(names) :], rest[len(names) :]),
    ]


def _before(importer: Importer, node: onnx.NodeProto) -> Callable[[Value, Value], Value]:
    """One row, and below it the others."""
    ctx = importer.context(node)

    def joined(row: Value, rows: Value) -> Value:
        one = ctx.emit(relax.op.expand_dims(importer.expr(row), 0))
        return ctx.emit(relax.op.concat([one, importer.expr(rows)], axis=0))

    return joined


def _of_rest(node: onnx.NodeProto) -> onnx.NodeProto:
    """The Loop whose iteration 0 is `node`'s iteration 1."""
    made = onnx.NodeProto()
    made.CopyFrom(node)
    body = body_of(made)
    number = body.input[0].name
    body.input[0].name = f"{number}.of_rest"
    one = f"{number}.one"
    body.initializer.append(numpy_helper.from_array(np.array(1, np.int64), one))
    body.node.insert(0, helper.make_node("Add", [body.input[0].name, one], [number]))
    return made
