"""LRN."""

from __future__ import annotations

from ._stock import StockOp


class LRN(StockOp):
    """Normalised over the neighbouring channels."""

    name = "LRN"
    slow = True
