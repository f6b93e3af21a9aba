"""Functions of real values, quantised.

Operands: for each value its bytes, scale and zero point; then scale and zero point of the result,
which come first for QLinearConcat.
"""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from ...shapes.axes import normal_axis
from ...shapes.constraints import Labels, Shape, broadcast
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.activations import leaky
from ..common.composite import Composite
from ..common.quantised import quantised, real
from ..common.rows import row
from ..onnx.concat import joined


def _unary(
    name: str, doc: str, function: Callable[[Context, relax.Expr, Attrs], relax.Expr]
) -> type[OnnxOp]:
    def expand(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        value = ctx.emit(function(ctx, real(ctx, inputs, 0), attrs))
        return quantised(ctx, value, inputs, 3, inputs.dtype(0))

    return row(name, doc, Composite, alike=((0, 2, 4),), expand=expand)


def _binary(
    name: str, doc: str, function: Callable[[relax.Expr, relax.Expr], relax.Expr]
) -> type[OnnxOp]:
    """ONNX Runtime's document says ``C = (...) / C_scale + C_zero_point``: it rounds that, with
    the zero point, as other quantised operators do not.
    """

    def expand(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        value = ctx.emit(function(real(ctx, inputs, 0), real(ctx, inputs, 3)))
        return quantised(ctx, value, inputs, 6, inputs.dtype(0), rounds_last=True)

    types = ((0, 2, 3, 5, 7),)
    return row(name, doc, Composite, labels=broadcast(0, 3), alike=types, expand=expand)


def _concat_labels(shapes: list[Shape | None], attrs: Attrs) -> Labels:
    tensors = joined([shape for k, shape in enumerate(shapes) if k % 3 == 2], attrs["axis"])
    return [tensors.pop(0) if k % 3 == 2 else [] for k in range(len(shapes))]


def _concat(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    dtype = inputs.dtype(1)
    parts = [
        ctx.emit(quantised(ctx, real(ctx, inputs, k), inputs, 0, dtype))
        for k in range(2, len(inputs), 3)
    ]
    return relax.op.concat(parts, normal_axis(attrs["axis"], inputs.rank(2)))


def _where(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    dtype = inputs.dtype(1)
    first, second = (
        ctx.emit(quantised(ctx, real(ctx, inputs, k), inputs, 7, dtype)) for k in (1, 4)
    )
    return relax.op.where(inputs[0], first, second)


# fmt: off
OPERATORS = [
    _binary("QLinearAdd", "Sum of the real values", relax.op.add),
    _binary("QLinearMul", "Product of the real values", relax.op.multiply),
    _unary("QLinearLeakyRelu", "LeakyRelu of the real value",
           lambda ctx, x, attrs: leaky(ctx, x, attrs.get("alpha", 0.01))),
    _unary("QLinearSigmoid", "Sigmoid of the real value",
           lambda ctx, x, attrs: relax.op.sigmoid(x)),
    row("QLinearConcat", "``concat`` of the real values", Composite,
        labels=_concat_labels, expand=_concat),
    row("QLinearWhere", "``where`` of the real values", Composite,
        labels=broadcast(0, 1, 4), alike=((1, 3, 4, 6, 8),), flags=(0,), expand=_where),
]
# fmt: on
