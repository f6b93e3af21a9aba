"""MatMulInteger."""

from __future__ import annotations

from tvm import relax

from ...shapes.constraints import matmul, numbered
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.quantised import centred


class MatMulInteger(Composite):
    """An i32 ``matmul`` of the operands less their zero points (per row of A, per column of B)."""

    name = "MatMulInteger"
    labels = staticmethod(numbered(matmul(0, 1), (0, -2, (2,)), (1, -1, (3,))))

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return relax.op.matmul(
            centred(ctx, inputs, 0, 2, [-1, 1]), centred(ctx, inputs, 1, 3, [1, -1])
        )
