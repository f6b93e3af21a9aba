"""Not."""

from __future__ import annotations

from ._arithmetic import size, truth
from ._stock import StockOp


class Not(StockOp):
    """``logical_not``."""

    name = "Not"
    on_sizes = staticmethod(truth(lambda a: 1 - size(a)))
