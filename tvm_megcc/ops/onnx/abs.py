"""Abs."""

from __future__ import annotations

from ..common.arithmetic import elementwise, maximum
from ..common.stock import StockOp


class Abs(StockOp):
    """``abs``."""

    name = "Abs"
    on_sizes = staticmethod(elementwise(lambda a: maximum(a, -a)))
