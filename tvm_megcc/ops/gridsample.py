"""GridSample."""

from __future__ import annotations

from ._stock import StockOp


class GridSample(StockOp):
    """``grid_sample``."""

    name = "GridSample"
    slow = True
