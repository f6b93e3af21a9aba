"""GridSample."""

from __future__ import annotations

from . import Attrs
from ._agree import EXACTLY, Labels, Shape
from ._stock import StockOp


class GridSample(StockOp):
    """``grid_sample``."""

    name = "GridSample"
    slow = True

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        rank = len(shapes[0] or ())
        return [["batch"], ["batch", *[None] * (rank - 2), (EXACTLY, rank - 2)]]
