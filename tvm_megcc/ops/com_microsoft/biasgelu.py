"""com.microsoft::BiasGelu."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.agree import last_dims


class BiasGelu(OnnxOp):
    """``nn.gelu`` of the operand plus a bias for its last dim."""

    name = "BiasGelu"
    domain = "com.microsoft"
    labels = staticmethod(last_dims)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return relax.op.nn.gelu(ctx.emit(relax.op.add(inputs[0], inputs[1])))
