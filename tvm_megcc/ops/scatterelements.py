"""ScatterElements."""

from __future__ import annotations

from . import Attrs
from ._stock import StockOp


class ScatterElements(StockOp):
    """``scatter_elements``."""

    name = "ScatterElements"
    slow = True
    moves = (0, 2)

    def only_moves(self, attrs: Attrs) -> bool:
        return attrs.get("reduction", "none") == "none"
