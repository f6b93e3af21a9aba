"""ScatterND."""

from __future__ import annotations

from . import Attrs
from ._stock import StockOp


class ScatterND(StockOp):
    """``scatter_nd``."""

    name = "ScatterND"
    moves = (0, 2)

    def only_moves(self, attrs: Attrs) -> bool:
        return attrs.get("reduction", "none") == "none"
