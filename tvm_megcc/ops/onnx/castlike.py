"""CastLike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm_megcc.core.dtypes import of_numpy

from ...shapes.arithmetic import Known, converted, dtype_of
from .. import Attrs, Context, Inputs, Result
from ..common.stock import StockOp
from ..common.stored import cast


class CastLike(StockOp):
    """As Cast, to the second operand's type."""

    name = "CastLike"
    takes_storage = True

    def on_sizes(self, operands: Sequence[Any], attrs: Attrs) -> Known:
        return converted(operands[0], dtype_of(operands[1]))

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        to = of_numpy(inputs.dtype(1))
        assert to is not None, inputs.dtype(1)
        result = cast(ctx, inputs, to, attrs)
        return super().convert(ctx, inputs, attrs) if result is None else result
