"""BitwiseAnd."""

from __future__ import annotations

from ._agree import broadcast
from ._stock import StockOp


class BitwiseAnd(StockOp):
    """``bitwise_and``."""

    name = "BitwiseAnd"
    labels = staticmethod(broadcast())
