"""RMSNormalization."""

from __future__ import annotations

from tvm import relax

from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.defaults import EPSILON


class RMSNormalization(OnnxOp):
    """``x / sqrt(mean(x * x) + epsilon) * scale``, over the axes from ``axis`` on."""

    name = "RMSNormalization"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        rank, dtype = inputs.rank(0), inputs.dtype(0)
        axes = list(range(normal_axis(attrs.get("axis", -1), rank), rank))
        x = inputs[0]
        squares = ctx.emit(relax.op.mean(relax.op.multiply(x, x), axes, True))
        size = relax.op.sqrt(relax.op.add(squares, ctx.const(attrs.get("epsilon", EPSILON), dtype)))
        return relax.op.multiply(relax.op.divide(x, size), inputs[1])
