"""Floor."""

from __future__ import annotations

from ._arithmetic import elementwise, rounded
from ._sizes import Real
from ._stock import StockOp


class Floor(StockOp):
    """``floor``."""

    name = "Floor"
    on_sizes = staticmethod(elementwise(rounded(Real.floor)))
