"""Cast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx import helper

from . import Attrs
from ._arithmetic import Known, converted
from ._stock import StockOp


class Cast(StockOp):
    """``astype``."""

    name = "Cast"

    def on_sizes(self, operands: Sequence[Any], attrs: Attrs) -> Known:
        return converted(operands[0], str(helper.tensor_dtype_to_np_dtype(attrs["to"])))
