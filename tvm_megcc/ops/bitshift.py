"""BitShift."""

from __future__ import annotations

from ._agree import broadcast
from ._stock import StockOp


class BitShift(StockOp):
    """``left_shift`` or ``right_shift``."""

    name = "BitShift"
    labels = staticmethod(broadcast())
