"""Softmax."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.softmax import along


class Softmax(OnnxOp):
    """``nn.softmax``; before opset 13 over all dims from ``axis`` on."""

    name = "Softmax"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return along(ctx, inputs, attrs, relax.op.nn.softmax)
