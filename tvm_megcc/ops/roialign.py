"""RoiAlign."""

from __future__ import annotations

from ._stock import StockOp


class RoiAlign(StockOp):
    """``roi_align``."""

    name = "RoiAlign"
    slow = True
