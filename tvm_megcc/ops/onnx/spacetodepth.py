"""SpaceToDepth."""

from __future__ import annotations

from tvm import relax

from ...dims import floordiv
from .. import Attrs, Context, Inputs, OnnxOp, Result


class SpaceToDepth(OnnxOp):
    """A permutation of blocks: before the channels (``DCR``), or after them (``CRD``)."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        batch, channels, *dims = inputs.shape(0)
        block = attrs["blocksize"]
        height, width = (floordiv(d, block) for d in dims)
        split = ctx.reshape(inputs[0], [batch, channels, height, block, width, block])
        order = [0, 3, 5, 1, 2, 4] if attrs.get("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
        moved = ctx.emit(relax.op.permute_dims(split, order))
        return ctx.reshape(moved, [batch, channels * block * block, height, width])
