"""Concat."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ...shapes.axes import normal_axis
from ...shapes.constraints import Labels, Shape
from .. import Attrs, Context, Inputs, Result
from ..common.stock import StockOp


class Concat(StockOp):
    """``concat``: the dims of all axes but one agree."""

    moves = range(sys.maxsize)

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        return joined(shapes, attrs.get("axis", 1))

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        axis = normal_axis(attrs.get("axis", 1), inputs.rank(0))
        return super().convert(ctx, inputs, {**attrs, "axis": axis})


def joined(shapes: Sequence[Shape | None], axis: int) -> Labels:
    """Labels of operands that are joined along an axis: all others have equal dims."""
    ranks = [len(shape or ()) for shape in shapes]
    return [[None if k == axis % rank else k for k in range(rank)] for rank in ranks]
