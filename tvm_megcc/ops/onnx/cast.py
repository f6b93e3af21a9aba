"""Cast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx import TensorProto

from tvm_megcc.core.dtypes import of_onnx

from ...shapes.arithmetic import Known, converted
from .. import Attrs, Context, Inputs, Result
from ..common.stock import StockOp
from ..common.stored import cast


class Cast(StockOp):
    """``astype``; storage types (8- and 4-bit floats, 4- and 2-bit integers) by `common.stored`."""

    name = "Cast"
    takes_storage = True

    def on_sizes(self, operands: Sequence[Any], attrs: Attrs) -> Known:
        to = of_onnx(attrs["to"])
        return converted(operands[0], None if to is None else to.numpy)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        to = of_onnx(attrs["to"])
        if to is None:
            name = TensorProto.DataType.Name(attrs["to"]).lower()
            raise ctx.unsupported(f"no tensor here can be {name}", "cast to another type")
        result = cast(ctx, inputs, to, attrs)
        return super().convert(ctx, inputs, attrs) if result is None else result
