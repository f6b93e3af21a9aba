"""BitwiseXor."""

from __future__ import annotations

from ..common.agree import broadcast
from ..common.stock import StockOp


class BitwiseXor(StockOp):
    """``bitwise_xor``."""

    name = "BitwiseXor"
    labels = staticmethod(broadcast())
