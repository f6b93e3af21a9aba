"""Neg."""

from __future__ import annotations

from operator import neg

from ._arithmetic import elementwise
from ._stock import StockOp


class Neg(StockOp):
    """``negative``."""

    name = "Neg"
    on_sizes = staticmethod(elementwise(neg))
