"""GatherND."""

from __future__ import annotations

from ._stock import StockOp


class GatherND(StockOp):
    """``gather_nd``."""

    name = "GatherND"
    moves = (0,)
