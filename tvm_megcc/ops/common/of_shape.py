"""Operators whose result follows from their operand's dims alone."""

from __future__ import annotations

from abc import abstractmethod

from ...shapes.arithmetic import Attrs, Known
from ...shapes.constraints import Shape
from .stock import StockOp


class OfShape(StockOp):
    """Converted only where the operand's dims are known at run time only."""

    @abstractmethod
    def of_shape(self, shape: Shape, attrs: Attrs) -> Known:
        """The result for an operand with these dims."""
