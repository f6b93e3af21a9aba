"""QLinearMatMul."""

from __future__ import annotations

from tvm import relax

from ...shapes.constraints import matmul, numbered
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.quantised import centred, factor, requantise


class QLinearMatMul(Composite):
    """An i32 ``matmul`` of the operands less their zero points, then requantised."""

    name = "QLinearMatMul"
    labels = staticmethod(numbered(matmul(0, 3), (0, -2, (1, 2)), (3, -1, (4, 5))))

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        lhs, rhs = centred(ctx, inputs, 0, 2, [-1, 1]), centred(ctx, inputs, 3, 5, [1, -1])
        total = ctx.emit(relax.op.matmul(lhs, rhs))
        scale = factor(ctx, inputs, (1, 4, 6), [1, -1], [-1, 1])
        return requantise(ctx, total, scale, inputs, 7, inputs.dtype(7))
