"""BitwiseAnd."""

from __future__ import annotations

from ..common.agree import broadcast
from ..common.stock import StockOp


class BitwiseAnd(StockOp):
    """``bitwise_and``."""

    name = "BitwiseAnd"
    labels = staticmethod(broadcast())
