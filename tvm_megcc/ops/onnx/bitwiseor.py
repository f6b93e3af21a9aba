"""BitwiseOr."""

from __future__ import annotations

from ..common.agree import broadcast
from ..common.stock import StockOp


class BitwiseOr(StockOp):
    """``bitwise_or``."""

    name = "BitwiseOr"
    labels = staticmethod(broadcast())
