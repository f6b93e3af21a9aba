"""Transpose."""

from __future__ import annotations

from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, Result
from ..common.stock import StockOp


class Transpose(StockOp):
    """``permute_dims``."""

    moves = (0,)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        rank = inputs.rank(0)
        order = [normal_axis(axis, rank) for axis in attrs.get("perm", ())]
        if order and sorted(order) != [*range(rank)]:
            raise ctx.ill_typed(f"has a perm of axes {order} for a tensor of rank {rank}")
        return super().convert(ctx, inputs, attrs)
