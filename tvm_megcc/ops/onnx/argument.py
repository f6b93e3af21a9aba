"""ArgMax and ArgMin: index of the extreme along an axis, which must not be empty."""

from __future__ import annotations

from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, Result
from ..common.rows import row
from ..common.stock import StockOp, convert


class Argument(StockOp):
    """TVM's conversion, after a check that the axis exists and is not empty."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        axis = normal_axis(int(attrs.get("axis", 0)), inputs.rank(0))
        return convert(ctx, [ctx.at_least(inputs[0], axis, 1)], attrs)


OPERATORS = [row("ArgMax", "``argmax``", Argument), row("ArgMin", "``argmin``", Argument)]
