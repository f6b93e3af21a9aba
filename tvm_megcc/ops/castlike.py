"""CastLike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import Attrs
from ._arithmetic import Known, converted, dtype_of
from ._stock import StockOp


class CastLike(StockOp):
    """``astype`` to the second operand's type."""

    name = "CastLike"

    def on_sizes(self, operands: Sequence[Any], attrs: Attrs) -> Known:
        return converted(operands[0], dtype_of(operands[1]))
