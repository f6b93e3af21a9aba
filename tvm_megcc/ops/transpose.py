"""Transpose."""

from __future__ import annotations

from ._stock import StockOp


class Transpose(StockOp):
    """``permute_dims``."""

    name = "Transpose"
    moves = (0,)
