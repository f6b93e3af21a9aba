"""Abs."""

from __future__ import annotations

from ._arithmetic import elementwise, maximum
from ._stock import StockOp


class Abs(StockOp):
    """``abs``."""

    name = "Abs"
    on_sizes = staticmethod(elementwise(lambda a: maximum(a, -a)))
