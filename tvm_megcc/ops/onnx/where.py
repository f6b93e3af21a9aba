"""Where."""

from __future__ import annotations

from ...shapes.arithmetic import chosen, elementwise
from ...shapes.constraints import broadcast
from .. import Attrs, Context, Inputs, Result
from ..common.stock import StockOp


class Where(StockOp):
    """``where``, of two operands of one type: TVM takes bools beside any other."""

    name = "Where"
    carries = (1, 2)
    labels = staticmethod(broadcast())
    on_sizes = staticmethod(elementwise(chosen, like=1))

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        first, second = inputs.dtype(1), inputs.dtype(2)
        if (first == "bool") != (second == "bool"):
            raise ctx.ill_typed(f"it chooses between {first} and {second}")
        return super().convert(ctx, inputs, attrs)
