"""GatherElements."""

from __future__ import annotations

from ._stock import StockOp


class GatherElements(StockOp):
    """``gather_elements``."""

    name = "GatherElements"
    slow = True
    moves = (0,)
