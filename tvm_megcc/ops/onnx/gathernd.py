"""GatherND."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.indexing import checked, read_blocks


class GatherND(OnnxOp):
    """A kernel of its own."""

    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        batch = attrs.get("batch_dims", 0)
        count = inputs.shape(1)[-1]
        if not isinstance(count, int) or batch + count > inputs.rank(0):
            raise ctx.ill_typed(
                f"has rows of {count} indices, behind {batch} common axes, for a tensor of rank"
                f" {inputs.rank(0)}"
            )
        data = ctx.agreeing(inputs[0], inputs.shape(1)[:batch], "its indices")
        axes = range(batch, batch + count)
        data, indices = checked(ctx, inputs, list(axes), data=data, columns=True)
        return ctx.builder.emit_te(read_blocks, data, indices, batch)
