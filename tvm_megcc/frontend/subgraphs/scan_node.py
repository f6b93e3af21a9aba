"""Scan: a body that is called for each row of its inputs."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from tvm import relax

from ...ops import Context
from ..sequences import Value
from ..state import Importer, Scope
from ..values import attributes
from .iterations import Count, Iterations, as_declared


def convert_scan(
    importer: Importer, node: onnx.NodeProto, values: Sequence[Value | None], scope: Scope
) -> list[Value]:
    """The states after the last iteration, then the outputs."""
    attrs, ctx = attributes(node), importer.context(node)
    if ctx.opset >= 9:
        return _scan(importer, node, attrs, values, scope)
    lengths, *operands = values
    if lengths is not None:
        raise ctx.unsupported("scans rows of several lengths", "export with opset 9 or later")
    # Of opset 8 the first axis counts examples, each of which is scanned for itself.
    attrs["scan_input_directions"] = attrs.get("directions")
    wholes = [importer.expr(value) for value in operands]
    (count,) = ctx.static(ctx.shape(wholes[0])[:1])
    if count == 0:
        raise ctx.unsupported("scans a batch of 0", "export with opset 9 or later")
    made = [
        _scan(importer, node, attrs, [_example(ctx, whole, k) for whole in wholes], scope)
        for k in range(count)
    ]
    return [
        ctx.emit(relax.op.concat([ctx.emit(relax.op.expand_dims(r, 0)) for r in rows], 0))
        for rows in ([importer.expr(r) for r in column] for column in zip(*made, strict=True))
    ]


def _example(ctx: Context, batch: relax.Expr, number: int) -> relax.Expr:
    part = relax.op.strided_slice(batch, [0], [number], [number + 1], assume_inbound=True)
    return ctx.emit(relax.op.squeeze(ctx.emit(part), 0))


def _scan(
    importer: Importer,
    node: onnx.NodeProto,
    attrs: Mapping[str, Any],
    values: Sequence[Value | None],
    scope: Scope,
) -> list[Value]:
    body: onnx.GraphProto = attrs["body"]
    ctx = importer.context(node)
    n_rows = attrs["num_scan_inputs"]
    n_states = len(values) - n_rows
    wholes = []
    for k, value in enumerate(values[n_states:]):
        whole = importer.expr(value)
        axis = _axis(ctx, attrs, "scan_input_axes", k, len(ctx.shape(whole)))
        wholes.append(_moved(ctx, whole, axis, 0))
    lengths = [ctx.shape(whole)[0] for whole in wholes]
    if any(length != lengths[0] for length in lengths):
        raise ctx.unsupported(
            f"scans inputs of {' and '.join(map(str, lengths))} rows, which must be as many",
            "fix the model's dims with --input-shapes",
        )
    limit = ctx.emit(relax.op.reshape(ctx.sizes([lengths[0]], "int64"), []))
    directions = [
        _at(attrs.get(f"scan_{side}_directions"), k)
        for side, count in (("input", n_rows), ("output", len(body.output) - n_states))
        for k in range(count)
    ]
    values = [as_declared(ctx, v, p) for v, p in zip(values, body.input, strict=False)]
    wholes = [
        as_declared(ctx, whole, port, rows=True)
        for whole, port in zip(wholes, body.input[n_states:], strict=True)
    ]
    count = Count(limit, lengths[0])
    loop = Iterations(importer, node, n_states, count, body.output, list(map(bool, directions)))
    names = [port.name for port in body.input]

    def convert(params: Sequence[relax.Expr]) -> list[Value]:
        known: dict[str, Value] = dict(zip(names, params[1:], strict=True))
        return [np.array(True), *importer.branch(body, ChainMap(known, scope))]

    results = loop.convert(convert, None, values[:n_states], wholes)
    for k in range(n_states, len(results)):
        whole = importer.expr(results[k])
        axis = _axis(ctx, attrs, "scan_output_axes", k - n_states, len(ctx.shape(whole)))
        results[k] = _moved(ctx, whole, 0, axis)
    return results


def _at(values: Sequence[int] | None, index: int) -> int:
    return values[index] if values else 0


def _axis(ctx: Context, attrs: Mapping[str, Any], name: str, index: int, rank: int) -> int:
    """The axis by which a Scan counts the rows of an operand or a result."""
    axis = _at(attrs.get(name), index)
    if not -rank <= axis < rank:
        raise ctx.ill_typed(f"{name} says axis {axis} of a tensor of rank {rank}")
    return axis % rank


def _moved(ctx: Context, value: relax.Expr, source: int, target: int) -> relax.Expr:
    """Rows counted by axis `source` are counted by axis `target` then."""
    if source == target:
        return value
    order = [d for d in range(len(ctx.shape(value))) if d != source]
    order.insert(target, source)
    return ctx.emit(relax.op.permute_dims(value, order))
