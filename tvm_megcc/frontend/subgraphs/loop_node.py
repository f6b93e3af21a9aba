"""Loop: a body that is called until its count or its condition ends it, or written out."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence

import numpy as np
import onnx
from tvm import relax

from .. import appended
from ..peeled import can_peel, peeled
from ..sequences import Value, flat, shaped, tensor_count, words
from ..state import Importer, Scope
from ..unrolled import can_unroll, unrolled
from ..values import attributes
from .bodies import refuse_several
from .counted import most_iterations
from .iterations import Count, Iterations, RankChangesError, as_declared


def convert_loop(
    importer: Importer, node: onnx.NodeProto, values: Sequence[Value | None], scope: Scope
) -> list[Value]:
    """The states after the last iteration, then the outputs that the iterations give by rows."""
    values = [*values, None, None][: max(len(values), 2)]
    refuse_several(importer, node, values[0], "trip count")
    refuse_several(importer, node, values[1], "condition")
    try:
        return _converted(importer, node, values, scope)
    except RankChangesError:
        if not can_peel(*values[:2]):
            raise
    return peeled(importer, node, values, scope, _converted)


def _converted(
    importer: Importer, node: onnx.NodeProto, values: Sequence[Value | None], scope: Scope
) -> list[Value]:
    """The results of a Loop whose states keep their rank; it has both operands before them."""
    body: onnx.GraphProto = attributes(node)["body"]
    count, started, *initial = values
    growing = appended.split(node, initial)
    if growing is not None and not can_unroll(count, started):
        made, which = growing
        rest = [count, started, *(v for k, v in enumerate(initial) if k not in which)]
        return appended.together(convert_loop(importer, made, rest, scope), initial, which)
    counted = Count.of(importer, node, count)
    if counted.limit is None:
        most = most_iterations(importer.context(node), body, initial, scope.get)
        counted = Count.of(importer, node, most)
    tensors, forms = flat(node, initial)
    if any(isinstance(form, int) for form in forms) and can_unroll(count, started):
        return unrolled(importer, node, body, [count, started, *initial], scope)
    ports = [
        port
        for port, form in zip(body.output[1:], forms, strict=False)
        for _ in range(tensor_count(form))
    ]
    ports += body.output[1 + len(forms) :]
    if len(tensors) == len(forms):
        given = zip(tensors, body.input[2:], strict=True)
        # Other dims before the first iteration than after it are no contradiction.
        tensors = [as_declared(importer.context(node), t, p, fixed=False) for t, p in given]
    loop = Iterations(importer, node, len(tensors), counted, ports)
    first, condition, *states = (port.name for port in body.input)

    def convert(params: Sequence[relax.Expr]) -> list[Value]:
        number, *given = params
        if _declared_rank(body.input[0]) == 1:
            number = importer.emit(relax.op.reshape(number, [1]))
        # In an iteration the condition holds.
        known: dict[str, Value] = {first: number, condition: np.array(True)}
        known |= zip(states, shaped(given, forms), strict=True)
        flag, *found = importer.branch(body, ChainMap(known, scope)) or [np.array(True)]
        after, found_forms = flat(node, found[: len(forms)])
        for name, before, now in zip(states, forms, found_forms, strict=False):
            if before != now:
                raise loop.ctx.unsupported(
                    f"its state '{name}' is {words(before)} before an iteration and {words(now)}"
                    " after it, and how many iterations there are is known only at run time",
                    "make its trip count and its condition constants",
                )
        return [flag, *after, *found[len(forms) :]]

    results = loop.convert(convert, started, tensors, [])
    n = len(tensors)
    return [*shaped(results[:n], forms), *results[n:]] if results else []


def _declared_rank(port: onnx.ValueInfoProto) -> int:
    return len(port.type.tensor_type.shape.dim)
