"""CumSum and CumProd: along an axis that is known, or computed at run time."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar

from tvm import te

from tvm_megcc.relax_tools.scans import around as known_parts
from tvm_megcc.relax_tools.scans import scanned

from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.axes_data import around
from ..common.rows import row


class Cumulative(OnnxOp):
    """A scan along one axis of a tensor."""

    #: What two elements become, and what goes with any element.
    combine: ClassVar[Callable[[Any, Any], Any]]
    neutral: ClassVar[int]
    single = {1: "axis"}

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape, known = inputs.shape(0), inputs.known(1)
        if 0 in shape:
            return inputs[0]
        if known is not None and shape:
            axis = normal_axis(int(known.reshape(-1)[0]), len(shape))
            return ctx.builder.emit_te(
                lambda x: self._scanned(x, attrs, known_parts(x.shape, axis)),
                inputs[0],
                primfunc_name_hint=self.name.lower(),
            )
        if (ctx.shape_or_none(inputs[1]) or (1,)) != (1,) or not shape:
            raise ctx.unsupported("its axis is no single number", "give one axis of its operand")
        sizes = around(ctx, inputs[1], shape)
        return ctx.builder.emit_te(
            lambda x, s: self._scanned(x, attrs, s),
            inputs[0],
            sizes,
            primfunc_name_hint=self.name.lower(),
        )

    def _scanned(self, x: te.Tensor, attrs: Attrs, parts: Any) -> te.Tensor:
        """`parts`: the three sizes, or a tensor of them."""
        exclusive, reverse = (bool(attrs.get(k, 0)) for k in ("exclusive", "reverse"))
        return scanned(
            x, parts, type(self).combine, self.neutral,
            exclusive=exclusive, reverse=reverse, name=self.name.lower(),
        )  # fmt: skip


OPERATORS = [
    row("CumSum", "Sums of the elements so far", Cumulative, combine=operator.add, neutral=0),
    row("CumProd", "Products of the elements so far", Cumulative, combine=operator.mul, neutral=1),
]
