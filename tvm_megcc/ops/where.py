"""Where."""

from __future__ import annotations

from ._agree import broadcast
from ._arithmetic import chosen, elementwise
from ._stock import StockOp


class Where(StockOp):
    """``where``."""

    name = "Where"
    carries = (1, 2)
    labels = staticmethod(broadcast())
    on_sizes = staticmethod(elementwise(chosen, like=1))
