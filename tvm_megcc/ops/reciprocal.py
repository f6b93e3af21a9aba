"""Reciprocal."""

from __future__ import annotations

from ._arithmetic import elementwise
from ._sizes import Real
from ._stock import StockOp


class Reciprocal(StockOp):
    """One divided by the operand."""

    name = "Reciprocal"
    on_sizes = staticmethod(elementwise(lambda a: Real(1) / Real.of(a)))
