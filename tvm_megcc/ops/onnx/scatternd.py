"""ScatterND."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.indexing import UPDATES, checked, write_blocks


class ScatterND(OnnxOp):
    """A kernel of its own. Updates are applied in order: of several to one place the last stays."""

    moves = (0, 2)

    def only_moves(self, attrs: Attrs) -> bool:
        return bool(attrs.get("reduction", "none") == "none")

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        count = inputs.shape(1)[-1]
        if not isinstance(count, int) or count > inputs.rank(0):
            raise ctx.ill_typed(f"rows of {count} indices for {inputs.rank(0)} dims")
        reduction = attrs.get("reduction", "none")
        if reduction not in UPDATES:
            raise ctx.ill_typed(f"reduction '{reduction}' is none of {', '.join(UPDATES)}")
        data, indices = checked(ctx, inputs, list(range(count)), data=inputs[0], columns=True)
        wanted = [*inputs.shape(1)[:-1], *inputs.shape(0)[count:]]
        if inputs.rank(2) != len(wanted):
            raise ctx.ill_typed(f"its updates have {inputs.rank(2)} dims, not {len(wanted)}")
        updates = ctx.agreeing(inputs[2], wanted, "its indices and data")
        return ctx.builder.emit_te(write_blocks, data, indices, updates, reduction)
