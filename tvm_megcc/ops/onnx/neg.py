"""Neg."""

from __future__ import annotations

from operator import neg

from ..common.arithmetic import elementwise
from ..common.stock import StockOp


class Neg(StockOp):
    """``negative``."""

    name = "Neg"
    on_sizes = staticmethod(elementwise(neg))
