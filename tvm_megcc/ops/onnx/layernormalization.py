"""LayerNormalization."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ...shapes.axes import normal_axis
from ...shapes.constraints import broadcast
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.centred import centred
from ..common.defaults import EPSILON


class LayerNormalization(OnnxOp):
    """``nn.layer_norm``; mean and inverse deviation are computed apart where they are used."""

    name = "LayerNormalization"

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
