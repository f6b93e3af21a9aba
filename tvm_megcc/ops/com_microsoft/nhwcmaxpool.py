"""com.microsoft::NhwcMaxPool."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result, find
from ..common.moved import channels_first, channels_last


class NhwcMaxPool(OnnxOp):
    """MaxPool of NHWC."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        pool = find("", "MaxPool")
        assert pool is not None
        moved = inputs.of(ctx, [channels_first(ctx, inputs[0])])
        return channels_last(ctx, ctx.emit(pool.convert(ctx.at_opset(12), moved, attrs)))
