"""Ceil."""

from __future__ import annotations

from ..common.arithmetic import elementwise, rounded
from ..common.sizes import Real
from ..common.stock import StockOp


class Ceil(StockOp):
    """``ceil``."""

    name = "Ceil"
    on_sizes = staticmethod(elementwise(rounded(Real.ceil)))
