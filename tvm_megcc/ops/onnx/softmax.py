"""Softmax, LogSoftmax and Hardmax: along an axis; before opset 13 over all dims from it on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import relax

from ...dims import product
from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import expr_dtype
from ..common.rows import row


def _along(
    ctx: Context, inputs: Inputs, attrs: Attrs, function: Callable[[relax.Expr, int], relax.Expr]
) -> relax.Expr:
    """Apply ``function`` along the axis (opset 13), or over it and all after it (before)."""
    shape = inputs.shape(0)
    axis = normal_axis(attrs.get("axis", -1 if ctx.opset >= 13 else 1), len(shape))
    trailing = [d for d in shape[axis + 1 :] if not (isinstance(d, int) and d == 1)]
    if ctx.opset >= 13 or not trailing:
        return function(inputs[0], axis)
    rows = ctx.emit(ctx.reshape(inputs[0], [product(shape[:axis]), product(shape[axis:])]))
    return ctx.reshape(ctx.emit(function(rows, 1)), list(shape))


def _softmax(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    return _along(ctx, inputs, attrs, relax.op.nn.softmax)


def _log_softmax(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    return _along(ctx, inputs, attrs, relax.op.nn.log_softmax)


def _hardmax(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    return _along(ctx, inputs, attrs, lambda x, axis: _first_largest(ctx, x, axis))


def _first_largest(ctx: Context, x: relax.Expr, axis: int) -> relax.Expr:
    shape = ctx.shape(x)
    size, behind = shape[axis], [1] * (len(shape) - 1 - axis)
    first = ctx.emit(relax.op.argmax(x, axis, True))
    if isinstance(size, int):
        numbers = ctx.const(np.arange(size).reshape([-1, *behind]), "int64")
    else:
        count = ctx.emit(relax.op.arange(0, ctx.prim(size), 1, "int64"))
        numbers = ctx.reshape(count, [size, *behind])
    return relax.op.astype(ctx.emit(relax.op.equal(numbers, first)), expr_dtype(x))


OPERATORS = [
    row("Softmax", "``nn.softmax``", OnnxOp, convert=_softmax),
    row("LogSoftmax", "``nn.log_softmax``", OnnxOp, convert=_log_softmax),
    row("Hardmax", "1 where a comparison of positions with ``argmax`` holds, else 0", OnnxOp,
        convert=_hardmax),
]  # fmt: skip
