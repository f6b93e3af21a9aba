"""MatMul."""

from __future__ import annotations

from ._agree import matmul
from ._stock import StockOp


class MatMul(StockOp):
    """``matmul``."""

    name = "MatMul"
    labels = staticmethod(matmul(0, 1))
