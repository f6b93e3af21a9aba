"""com.microsoft::MatMulIntegerToFloat."""

from __future__ import annotations

from tvm import relax

from ...shapes.constraints import matmul, numbered
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.quantised import centred, scaled, shaped


class MatMulIntegerToFloat(Composite):
    """An i32 ``matmul`` as f32.

    Operands: A, B, their scales, their zero points, and a bias.
    """

    name = "MatMulIntegerToFloat"
    labels = staticmethod(numbered(matmul(0, 1), (0, -2, (2, 4)), (1, -1, (3, 5))))

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        lhs, rhs = centred(ctx, inputs, 0, 4, [-1, 1]), centred(ctx, inputs, 1, 5, [1, -1])
        total = ctx.emit(relax.op.matmul(lhs, rhs))
        scales = shaped(ctx, inputs, 2, [-1, 1]), shaped(ctx, inputs, 3, [1, -1])
        return scaled(ctx, total, ctx.emit(relax.op.multiply(*scales)), inputs, 6)
