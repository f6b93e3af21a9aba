"""Normalisations by the mean and the deviation over some axes."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ...dims import Size, floordiv
from ...shapes.axes import normal_axes, normal_axis
from ...shapes.constraints import Labels, Shape, broadcast
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.centred import centred
from ..common.context import expr_dtype
from ..common.defaults import EPSILON


class InstanceNormalization(OnnxOp):
    """``(x - mean) / sqrt(variance + epsilon)`` of each channel, with its scale and bias."""

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        return [[None, "channels"], ["channels"], ["channels"]]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        if 0 in shape:  # a mean divides by the number of elements
            return inputs[0]
        found = centred(ctx, inputs[0], list(range(2, len(shape))))
        wanted = [1, shape[1], *[1] * (len(shape) - 2)]
        scale, bias = (ctx.reshape(inputs[k], wanted) for k in (1, 2))
        factor = ctx.emit(relax.op.divide(scale, found.deviation(ctx, attrs)))
        return ctx.emit(relax.op.add(ctx.emit(relax.op.multiply(found.value, factor)), bias))


class GroupNormalization(OnnxOp):
    """``(x - mean) / sqrt(variance + epsilon)`` of each group of channels, scaled and moved.

    Scale and bias are per channel; before opset 21 they are per group.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        batch, channels, *rest = inputs.shape(0)
        groups = int(attrs["num_groups"])
        if groups < 1:
            raise ctx.unsupported(f"num_groups is {groups}", "give 1 or more")
        each = floordiv(channels, groups)
        if isinstance(channels, int) and each * groups != channels:
            raise ctx.ill_typed(f"{channels} channels are no {groups} groups of equal size")
        parts = ctx.reshape(inputs[0], [batch, groups, each, *rest])
        found = centred(ctx, parts, list(range(2, 3 + len(rest))))
        normal = ctx.emit(relax.op.divide(found.value, found.deviation(ctx, attrs)))
        per_group = ctx.opset < 21
        if not per_group:
            normal = ctx.reshape(normal, [batch, channels, *rest])
        wanted, ones = (groups, len(rest) + 1) if per_group else (channels, len(rest))
        scale, bias = (self._spread(ctx, inputs, k, wanted, ones) for k in (1, 2))
        moved = ctx.emit(relax.op.add(ctx.emit(relax.op.multiply(normal, scale)), bias))
        return ctx.reshape(moved, [batch, channels, *rest])

    @staticmethod
    def _spread(ctx: Context, inputs: Inputs, index: int, wanted: Size, ones: int) -> relax.Expr:
        operand = ctx.agreeing(inputs[index], [wanted], "what it is for")
        return ctx.reshape(operand, [1, wanted, *[1] * ones])


class LayerNormalization(OnnxOp):
    """``nn.layer_norm``, or its arithmetic where mean and inverse deviation are outputs, too."""

    labels = staticmethod(broadcast(whole=0))

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        rank = inputs.rank(0)
        axis = normal_axis(attrs.get("axis", -1), rank)
        axes, epsilon = list(range(axis, rank)), attrs.get("epsilon", EPSILON)
        shapes = {inputs.static_shape(k) for k in (1, 2) if inputs.has(k)}
        simple = shapes == {inputs.shape(0)[axis:]} and not (ctx.wants(1) or ctx.wants(2))
        if simple and inputs.dtype(0) != "float64":  # of which TVM normalises none
            zeros = ctx.const(np.zeros(inputs.static_shape(1)), inputs.dtype(1))
            bias = inputs[2] if inputs.has(2) else zeros
            return relax.op.nn.layer_norm(inputs[0], inputs[1], bias, axes, epsilon)
        data = relax.op.astype(inputs[0], "float32") if inputs.dtype(0) == "float16" else inputs[0]
        data = ctx.emit(data) if data is not inputs[0] else data
        work = "float32" if inputs.dtype(0) == "float16" else inputs.dtype(0)
        value, mean, variance = centred(ctx, data, axes)
        deviation = relax.op.sqrt(relax.op.add(variance, ctx.const(epsilon, work)))
        inverse = ctx.emit(relax.op.divide(ctx.const(1, work), deviation))
        result = relax.op.multiply(value, inverse)
        if work != inputs.dtype(0):
            result = relax.op.astype(result, inputs.dtype(0))
        result = relax.op.multiply(result, inputs[1])
        if inputs.has(2):
            result = relax.op.add(result, inputs[2])
        statistics = ["float64" if attrs.get("stash_type", 1) == 11 else "float32"] * 2
        kept = [relax.op.astype(v, t) for v, t in zip((mean, inverse), statistics, strict=True)]
        return result, *kept


#: What the definition of MeanVarianceNormalization adds to the deviation.
_ADDED = 1e-9


class MeanVarianceNormalization(OnnxOp):
    """``(x - mean) / (deviation + 1e-9)``.

    The variance is the mean of squared differences. ONNX's definition, the mean square less the
    squared mean, is below 0 by rounding where the elements are nearly equal, and has no root then.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x, rank = inputs[0], inputs.rank(0)
        if 0 in inputs.shape(0):  # TVM divides by the number of elements
            return x
        axes = normal_axes(attrs.get("axes", [0, 2, 3]), rank)
        apart, _, variance = centred(ctx, x, axes)
        deviation = relax.op.add(relax.op.sqrt(variance), ctx.const(_ADDED, expr_dtype(x)))
        return relax.op.divide(apart, deviation)


class RMSNormalization(OnnxOp):
    """``x / sqrt(mean(x * x) + epsilon) * scale``, over the axes from ``axis`` on."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        size = _root_mean_square(ctx, inputs, attrs)
        return relax.op.multiply(relax.op.divide(inputs[0], size), inputs[1])


class SimplifiedLayerNormalization(OnnxOp):
    """ONNX Runtime's RMSNormalization; the second result is the inverse root.

    Its file has no domain of its own: ONNX Runtime's tools write it among ONNX's operators.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        size = _root_mean_square(ctx, inputs, attrs)
        result = relax.op.multiply(relax.op.divide(inputs[0], size), inputs[1])
        return result, relax.op.divide(ctx.const(1, inputs.dtype(0)), size)


def _root_mean_square(ctx: Context, inputs: Inputs, attrs: Attrs) -> relax.Expr:
    """Root of the mean square over the axes from ``axis`` on, and of epsilon."""
    rank, x = inputs.rank(0), inputs[0]
    axes = list(range(normal_axis(attrs.get("axis", -1), rank), rank))
    squares = ctx.emit(relax.op.mean(relax.op.multiply(x, x), axes, True))
    epsilon = ctx.const(attrs.get("epsilon", EPSILON), inputs.dtype(0))
    return ctx.emit(relax.op.sqrt(relax.op.add(squares, epsilon)))


OPERATORS = [
    InstanceNormalization,
    GroupNormalization,
    LayerNormalization,
    MeanVarianceNormalization,
    RMSNormalization,
    SimplifiedLayerNormalization,
]
