"""Floor."""

from __future__ import annotations

from ..common.arithmetic import elementwise, rounded
from ..common.sizes import Real
from ..common.stock import StockOp


class Floor(StockOp):
    """``floor``."""

    name = "Floor"
    on_sizes = staticmethod(elementwise(rounded(Real.floor)))
