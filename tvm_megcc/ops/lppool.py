"""LpPool."""

from __future__ import annotations

from ._stock import StockOp


class LpPool(StockOp):
    """Pooling by the p-norm."""

    name = "LpPool"
    slow = True
