"""com.microsoft::QLinearSoftmax."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ...dims import product
from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.operands import reshaped
from ..common.quantised import saturate


class QLinearSoftmax(Composite):
    """Softmax of the real value, as so many of the whole steps that 1 has in the result's scale.

    Its zero point does not count: a softmax is that of the differences. Before opset 13 (an
    attribute) the rows are all dims from ``axis`` on.
    """

    alike = ((0, 2, 4),)

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape, opset = list(inputs.shape(0)), attrs["opset"]
        axis = normal_axis(attrs.get("axis", -1), len(shape))
        data = inputs[0]
        if opset < 13:
            data = ctx.reshape(data, [product(shape[:axis]), product(shape[axis:])])
            axis = 1
        known = self._known(ctx, inputs, data, axis)
        result = ctx.emit(self._given(ctx, inputs, data, axis) if known is None else known)
        return ctx.reshape(result, shape)

    @staticmethod
    def _known(ctx: Context, inputs: Inputs, data: relax.Expr, axis: int) -> relax.Expr | None:
        """By constant scales and zero point, in the form that passes know."""
        op, dtype = relax.op, inputs.dtype(0)
        scale, size = inputs.known(1), inputs.known(3)
        point = inputs.known(4) if inputs.has(4) else np.zeros((), dtype)
        if scale is None or size is None or point is None:
            return None
        if max(scale.size, size.size, point.size) > 1:
            return None
        steps = np.floor(np.float32(1) / size.reshape(()).astype(np.float32))
        if not 1 <= steps < np.inf:
            return None
        zero = ctx.const(np.zeros((), dtype), dtype)
        real = op.dequantize(data, ctx.const(scale.reshape(()), "float32"), zero, axis=0)
        share = ctx.emit(op.nn.softmax(ctx.emit(real), axis))
        step, held = ctx.const(1 / steps, "float32"), ctx.const(point.reshape(()), dtype)
        return op.quantize(share, step, held, axis=0, out_dtype=dtype)

    @staticmethod
    def _given(ctx: Context, inputs: Inputs, data: relax.Expr, axis: int) -> relax.Expr:
        op = relax.op
        data = ctx.emit(op.astype(data, "int32"))
        top = ctx.emit(op.max(data, [axis], keepdims=True))
        below = ctx.emit(op.astype(op.subtract(data, top), "float32"))
        parts = ctx.emit(op.exp(op.multiply(below, reshaped(ctx, inputs, 1, []))))
        total = ctx.emit(op.sum(parts, [axis], keepdims=True))
        steps = op.divide(ctx.const(1, "float32"), reshaped(ctx, inputs, 3, []))
        counted = op.multiply(parts, op.floor(ctx.emit(steps)))
        result = ctx.emit(op.divide(ctx.emit(counted), total))
        point = reshaped(ctx, inputs, 4, []) if inputs.has(4) else None
        return saturate(ctx, result, point, inputs.dtype(0))
