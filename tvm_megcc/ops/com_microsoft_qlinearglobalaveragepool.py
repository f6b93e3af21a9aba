"""com.microsoft::QLinearGlobalAveragePool."""

from __future__ import annotations

from tvm import relax

from . import Attrs, Context, Inputs, Result
from ._composite import Composite
from ._context import volume
from ._quantised import centred, requantise
from ._shapes import reshaped


class QLinearGlobalAveragePool(Composite):
    """The i32 sum over all spatial dims, requantised by a scale that has their number in it."""

    name = "QLinearGlobalAveragePool"
    domain = "com.microsoft"

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        op, rank = relax.op, inputs.rank(0)
        first = 1 if attrs.get("channels_last", 0) else 2
        axes = list(range(first, first + rank - 2))
        total = ctx.emit(op.sum(centred(ctx, inputs, 0, 2, []), axes, keepdims=True))
        count = ctx.sizes([volume([inputs.shape(0)[a] for a in axes])], "float32")
        per = op.multiply(reshaped(ctx, inputs, 3, []), ctx.reshape(count, []))
        factor = ctx.emit(op.divide(reshaped(ctx, inputs, 1, []), ctx.emit(per)))
        return requantise(ctx, total, factor, inputs, 4, inputs.dtype(0))
