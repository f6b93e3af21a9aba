"""DepthToSpace."""

from __future__ import annotations

from tvm import relax

from ...dims import floordiv
from .. import Attrs, Context, Inputs, OnnxOp, Result


class DepthToSpace(OnnxOp):
    """A permutation: a pixel's channels become a block, before the others or behind them."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        batch, channels, height, width = inputs.shape(0)
        block = attrs["blocksize"]
        left = floordiv(channels, block * block)
        if attrs.get("mode", "DCR") == "DCR":
            split, order = [block, block, left], [0, 3, 4, 1, 5, 2]
        else:
            split, order = [left, block, block], [0, 1, 4, 2, 5, 3]
        if isinstance(channels, int) and left * block * block != channels:
            raise ctx.ill_typed(f"{channels} channels are no blocks of {block} by {block}")
        parts = ctx.reshape(inputs[0], [batch, *split, height, width])
        moved = ctx.emit(relax.op.permute_dims(parts, order))
        return ctx.reshape(moved, [batch, left, height * block, width * block])
