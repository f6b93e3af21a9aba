"""BitwiseOr."""

from __future__ import annotations

from ._agree import broadcast
from ._stock import StockOp


class BitwiseOr(StockOp):
    """``bitwise_or``."""

    name = "BitwiseOr"
    labels = staticmethod(broadcast())
