"""BitShift."""

from __future__ import annotations

from ..common.agree import broadcast
from ..common.stock import StockOp


class BitShift(StockOp):
    """``left_shift`` or ``right_shift``."""

    name = "BitShift"
    labels = staticmethod(broadcast())
