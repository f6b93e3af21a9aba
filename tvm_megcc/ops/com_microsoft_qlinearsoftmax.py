"""com.microsoft::QLinearSoftmax."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, Result
from ._composite import Composite
from ._context import volume
from ._quantised import saturate
from ._shapes import normal_axis, reshaped


class QLinearSoftmax(Composite):
    """Softmax of the real value, as so many of the whole steps that 1 has in the result's scale.

    Its zero point does not count: a softmax is that of the differences. Before opset 13 (an
    attribute) the rows are all dims from ``axis`` on.
    """

    name = "QLinearSoftmax"
    domain = "com.microsoft"

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        op, shape, opset = relax.op, list(inputs.shape(0)), attrs["opset"]
        axis = normal_axis(attrs.get("axis", -1 if opset >= 13 else 1), len(shape))
        data = ctx.emit(op.astype(inputs[0], "int32"))
        if opset < 13:
            data = ctx.reshape(data, [volume(shape[:axis]), volume(shape[axis:])])
            axis = 1
        top = ctx.emit(op.max(data, [axis], keepdims=True))
        below = ctx.emit(op.astype(op.subtract(data, top), "float32"))
        parts = ctx.emit(op.exp(op.multiply(below, reshaped(ctx, inputs, 1, []))))
        total = ctx.emit(op.sum(parts, [axis], keepdims=True))
        steps = op.divide(ctx.const(1, "float32"), reshaped(ctx, inputs, 3, []))
        counted = op.multiply(parts, op.floor(ctx.emit(steps)))
        result = ctx.emit(op.divide(ctx.emit(counted), total))
        point = reshaped(ctx, inputs, 4, []) if inputs.has(4) else None
        result = ctx.emit(saturate(ctx, result, point, inputs.dtype(0)))
        return ctx.reshape(result, shape)
