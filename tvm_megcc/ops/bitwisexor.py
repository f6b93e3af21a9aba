"""BitwiseXor."""

from __future__ import annotations

from ._agree import broadcast
from ._stock import StockOp


class BitwiseXor(StockOp):
    """``bitwise_xor``."""

    name = "BitwiseXor"
    labels = staticmethod(broadcast())
