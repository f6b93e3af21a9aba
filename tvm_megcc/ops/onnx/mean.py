"""Mean of any number of operands."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, Result
from ..common.elementwise import Variadic


class Mean(Variadic):
    """The sum, divided by the number of operands."""

    function = staticmethod(relax.op.add)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        total = super().convert(ctx, inputs, attrs)
        return relax.op.divide(total, ctx.const(len(inputs), inputs.dtype(0)))
