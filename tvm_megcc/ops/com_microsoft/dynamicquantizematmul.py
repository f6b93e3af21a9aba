"""com.microsoft::DynamicQuantizeMatMul."""

from __future__ import annotations

from tvm import relax

from ...shapes.constraints import matmul, numbered
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.quantised import by_its_range, centred, scaled, shaped


class DynamicQuantizeMatMul(Composite):
    """A, quantised by its own range, times B in i32, and f32 again.

    Operands: A (f32), B, scale and zero point of B, and a bias.
    """

    name = "DynamicQuantizeMatMul"
    labels = staticmethod(numbered(matmul(0, 1), (1, -1, (2, 3))))

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        lhs, scale = by_its_range(ctx, inputs[0])
        total = ctx.emit(relax.op.matmul(lhs, centred(ctx, inputs, 1, 3, [1, -1])))
        factor = ctx.emit(relax.op.multiply(scale, shaped(ctx, inputs, 2, [1, -1])))
        return scaled(ctx, total, factor, inputs, 4)
