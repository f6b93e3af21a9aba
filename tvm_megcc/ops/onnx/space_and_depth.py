"""Permutations between channels and blocks of pixels.

The block is before the other channels (mode ``DCR``) or behind them (``CRD``).
"""

from __future__ import annotations

from tvm import relax

from ...dims import floordiv
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.rows import row


def _depth_to_space(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
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


def _space_to_depth(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    batch, channels, *dims = inputs.shape(0)
    block = attrs["blocksize"]
    height, width = (floordiv(d, block) for d in dims)
    split = ctx.reshape(inputs[0], [batch, channels, height, block, width, block])
    order = [0, 3, 5, 1, 2, 4] if attrs.get("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    moved = ctx.emit(relax.op.permute_dims(split, order))
    return ctx.reshape(moved, [batch, channels * block * block, height, width])


OPERATORS = [
    row("DepthToSpace", "A pixel's channels become a block", OnnxOp, convert=_depth_to_space),
    row("SpaceToDepth", "A block becomes a pixel's channels", OnnxOp, convert=_space_to_depth),
]
