"""AffineGrid."""

from __future__ import annotations

from ._stock import StockOp


class AffineGrid(StockOp):
    """``affine_grid``."""

    name = "AffineGrid"
    slow = True
