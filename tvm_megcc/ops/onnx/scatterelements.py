"""ScatterElements."""

from __future__ import annotations

from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.indexing import UPDATES, elements_checked, write_elements
from ..common.rows import row


class ScatterElements(OnnxOp):
    """A kernel of its own: an axis of the indices may be smaller than the data's.

    Updates are applied in order, so that of several to one place the last one stays.
    """

    name = "ScatterElements"
    slow = True
    moves = (0, 2)

    def only_moves(self, attrs: Attrs) -> bool:
        return bool(attrs.get("reduction", "none") == "none")

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        rank = inputs.rank(0)
        if inputs.rank(1) != rank or inputs.rank(2) != rank:
            ranks = f"{inputs.rank(1)} and {inputs.rank(2)}"
            raise ctx.ill_typed(f"its indices and updates have {ranks} dims, its data {rank}")
        reduction = attrs.get("reduction", "none")
        if reduction not in UPDATES:
            raise ctx.ill_typed(f"reduction '{reduction}' is none of {', '.join(UPDATES)}")
        axis = normal_axis(attrs.get("axis", 0), rank)
        data, indices = elements_checked(ctx, inputs, axis)
        updates = ctx.agreeing(inputs[2], inputs.shape(1), "its indices")
        return ctx.builder.emit_te(write_elements, data, indices, updates, axis, reduction)


OPERATORS = [
    ScatterElements,
    row("Scatter", "The name before opset 11", ScatterElements),
]
