"""Concat."""

from __future__ import annotations

import sys
from collections.abc import Hashable

from ...shapes.axes import normal_axis
from ...shapes.constraints import Labels, Shape
from .. import Attrs, Context, Inputs, Result
from ..common.stock import StockOp


class Concat(StockOp):
    """``concat``: the dims of all axes but one agree."""

    name = "Concat"
    moves = range(sys.maxsize)

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        def row(shape: Shape | None) -> list[Hashable]:
            rank = len(shape or ())
            axis = attrs.get("axis", 1)
            return [None if k == axis % max(rank, 1) else k for k in range(rank)]

        return [row(shape) for shape in shapes]

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        axis = normal_axis(attrs.get("axis", 1), inputs.rank(0))
        return super().convert(ctx, inputs, {**attrs, "axis": axis})
