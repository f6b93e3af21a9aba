"""MatMul."""

from __future__ import annotations

from ...shapes.constraints import matmul
from ..common.stock import StockOp


class MatMul(StockOp):
    """``matmul``."""

    name = "MatMul"
    labels = staticmethod(matmul(0, 1))
