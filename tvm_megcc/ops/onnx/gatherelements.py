"""GatherElements."""

from __future__ import annotations

from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.indexing import elements_checked, read_elements


class GatherElements(OnnxOp):
    """A kernel of its own: an axis of the indices may be smaller than the data's."""

    name = "GatherElements"
    slow = True
    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        rank = inputs.rank(0)
        if inputs.rank(1) != rank:
            raise ctx.ill_typed(f"its indices have {inputs.rank(1)} dims, its data {rank}")
        axis = normal_axis(attrs.get("axis", 0), rank)
        data, indices = elements_checked(ctx, inputs, axis)
        return ctx.builder.emit_te(read_elements, data, indices, axis)
