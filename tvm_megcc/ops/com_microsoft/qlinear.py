"""Functions of real values, quantised.

Operands: for each value its bytes, scale and zero point; then scale and zero point of the result.
"""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from ...shapes.constraints import broadcast
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.activations import leaky
from ..common.composite import Composite
from ..common.quantised import quantised, real
from ..common.rows import row


def _unary(
    name: str, doc: str, function: Callable[[Context, relax.Expr, Attrs], relax.Expr]
) -> type[OnnxOp]:
    def expand(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        value = ctx.emit(function(ctx, real(ctx, inputs, 0), attrs))
        return quantised(ctx, value, inputs, 3, inputs.dtype(0))

    return row(name, doc, Composite, expand=expand)


def _binary(
    name: str, doc: str, function: Callable[[relax.Expr, relax.Expr], relax.Expr]
) -> type[OnnxOp]:
    """ONNX Runtime's document says ``C = (...) / C_scale + C_zero_point``: it rounds that, with
    the zero point, as other quantised operators do not.
    """

    def expand(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        value = ctx.emit(function(real(ctx, inputs, 0), real(ctx, inputs, 3)))
        return quantised(ctx, value, inputs, 6, inputs.dtype(0), rounds_last=True)

    return row(name, doc, Composite, labels=broadcast(0, 3), expand=expand)


# fmt: off
OPERATORS = [
    _binary("QLinearAdd", "Sum of the real values", relax.op.add),
    _binary("QLinearMul", "Product of the real values", relax.op.multiply),
    _unary("QLinearLeakyRelu", "LeakyRelu of the real value",
           lambda ctx, x, attrs: leaky(ctx, x, attrs.get("alpha", 0.01))),
    _unary("QLinearSigmoid", "Sigmoid of the real value",
           lambda ctx, x, attrs: relax.op.sigmoid(x)),
]
# fmt: on
