"""com.microsoft::FastGelu."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.agree import last_dims


class FastGelu(OnnxOp):
    """``nn.gelu_tanh`` of the operand, plus a bias for its last dim where there is one."""

    name = "FastGelu"
    domain = "com.microsoft"
    labels = staticmethod(last_dims)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x = inputs[0]
        if inputs.has(1):
            x = ctx.emit(relax.op.add(x, inputs[1]))
        return relax.op.nn.gelu_tanh(x)
