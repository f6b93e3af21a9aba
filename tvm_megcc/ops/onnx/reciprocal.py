"""Reciprocal."""

from __future__ import annotations

from ..common.arithmetic import elementwise
from ..common.sizes import Real
from ..common.stock import StockOp


class Reciprocal(StockOp):
    """One divided by the operand."""

    name = "Reciprocal"
    on_sizes = staticmethod(elementwise(lambda a: Real(1) / Real.of(a)))
