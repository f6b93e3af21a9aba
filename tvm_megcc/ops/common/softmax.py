"""The two meanings of ``axis`` in the softmax family."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from .context import Attrs, Context
from .inputs import Inputs
from .shapes import normal_axis, product


def along(
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
