"""com.microsoft::Gelu."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result


class Gelu(OnnxOp):
    """``nn.gelu``, by the error function."""

    name = "Gelu"
    domain = "com.microsoft"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return relax.op.nn.gelu(inputs[0])
