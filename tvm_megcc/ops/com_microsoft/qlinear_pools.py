"""Averages of quantised values."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ...dims import fixed, is_static, product
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.moved import channels_first, channels_last
from ..common.operands import reshaped
from ..common.quantised import centred, real, requantise, saturate
from ..onnx.pooling import AveragePool


class QLinearAveragePool(Composite):
    """AveragePool of the real value, quantised; with ``channels_last`` of NHWC.

    ``count_include_pad`` divides by the size of the window, as ONNX Runtime does here: also where
    ``ceil_mode`` lets it leave the padding.
    """

    alike = ((0, 2, 4),)

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        value = real(ctx, inputs, 0)
        last = bool(attrs.get("channels_last", 0))
        if last:
            value = channels_first(ctx, value)
        value = ctx.emit(AveragePool.pooled(ctx, inputs.of(ctx, [value]), attrs, whole=True))
        if last:
            value = channels_last(ctx, value)
        return self._rounded(ctx, inputs, value)

    @staticmethod
    def _rounded(ctx: Context, inputs: Inputs, value: relax.Expr) -> relax.Expr:
        """Quantised as ONNX Runtime does here: the zero point is added before rounding."""
        op, dtype = relax.op, inputs.dtype(0)
        value = ctx.emit(op.divide(value, reshaped(ctx, inputs, 3, [])))
        if inputs.has(4):
            value = ctx.emit(op.add(value, op.astype(reshaped(ctx, inputs, 4, []), "float32")))
        return saturate(ctx, value, None, dtype)


class QLinearGlobalAveragePool(Composite):
    """The i32 sum over all spatial dims, requantised by a scale that has their number in it."""

    alike = ((0, 2, 4),)

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        op, rank = relax.op, inputs.rank(0)
        if rank < 3:
            raise ctx.ill_typed(f"averages over the image of an input that has {rank} dims")
        first = 1 if attrs.get("channels_last", 0) else 2
        axes = list(range(first, first + rank - 2))
        total = ctx.emit(op.sum(centred(ctx, inputs, 0, 2, []), axes, keepdims=True))
        pixels = product([inputs.shape(0)[a] for a in axes])
        scale, size = inputs.known(1), inputs.known(3)
        if scale is not None and size is not None and is_static([pixels]) and pixels != 0:
            per = size.reshape(()).astype(np.float32) * np.float32(fixed(pixels))
            factor = ctx.const(scale.reshape(()).astype(np.float32) / per, "float32")
        else:
            count = ctx.reshape(ctx.sizes([pixels], "float32"), [])
            per = ctx.emit(op.multiply(reshaped(ctx, inputs, 3, []), count))
            factor = ctx.emit(op.divide(reshaped(ctx, inputs, 1, []), per))
        return requantise(ctx, total, factor, inputs, 4, inputs.dtype(0))


OPERATORS = [QLinearAveragePool, QLinearGlobalAveragePool]
