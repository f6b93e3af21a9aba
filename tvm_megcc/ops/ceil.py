"""Ceil."""

from __future__ import annotations

from ._arithmetic import elementwise, rounded
from ._sizes import Real
from ._stock import StockOp


class Ceil(StockOp):
    """``ceil``."""

    name = "Ceil"
    on_sizes = staticmethod(elementwise(rounded(Real.ceil)))
