"""MatMul."""

from __future__ import annotations

from ..common.agree import matmul
from ..common.stock import StockOp


class MatMul(StockOp):
    """``matmul``."""

    labels = staticmethod(matmul(0, 1))
