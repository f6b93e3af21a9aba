"""Not."""

from __future__ import annotations

from ..common.arithmetic import size, truth
from ..common.stock import StockOp


class Not(StockOp):
    """``logical_not``."""

    name = "Not"
    on_sizes = staticmethod(truth(lambda a: 1 - size(a)))
