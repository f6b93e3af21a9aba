"""ArgMax and ArgMin: where along an axis the extreme stands, which needs an element to be there."""

from __future__ import annotations

from .context import Attrs, Context
from .inputs import Inputs
from .operator import Result
from .shapes import normal_axis
from .stock import StockOp, convert


class Argument(StockOp):
    """TVM's conversion, for an axis that is there and not empty."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        axis = normal_axis(int(attrs.get("axis", 0)), inputs.rank(0))
        return convert(ctx, [ctx.at_least(inputs[0], axis, 1)], attrs)
