"""Sign."""

from __future__ import annotations

from ._arithmetic import elementwise, sign
from ._stock import StockOp


class Sign(StockOp):
    """``sign``."""

    name = "Sign"
    on_sizes = staticmethod(elementwise(sign))
