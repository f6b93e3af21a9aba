"""Matrix products, and convolutions of integers.

Of integers they are i32 sums of the operands less their zero points.
"""

from __future__ import annotations

from tvm import relax

from ...shapes.constraints import convolution, matmul, numbered
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.convolution import convolve
from ..common.operands import with_bias
from ..common.quantised import centred, factor, requantise
from ..common.rows import row
from ..common.window import window


def _product(
    ctx: Context, inputs: Inputs, lhs: tuple[int, int], rhs: tuple[int, int]
) -> relax.Expr:
    """The product of two operands, each given with its zero point."""
    left = centred(ctx, inputs, *lhs, [-1, 1])
    return relax.op.matmul(left, centred(ctx, inputs, *rhs, [1, -1]))


def _convolution(
    ctx: Context, inputs: Inputs, attrs: Attrs, data: tuple[int, int], weight: tuple[int, int]
) -> relax.Expr:
    """The convolution of two operands, each given with its zero point."""
    rank = inputs.rank(0)
    win = window(ctx, attrs, list(inputs.static_shape(weight[0])[2:]), inputs.shape(0)[2:])
    image = centred(ctx, inputs, *data, [])
    kernels = centred(ctx, inputs, *weight, [-1] + [1] * (rank - 1))
    return convolve(ctx, image, kernels, win, attrs.get("group", 1))


def _mat_mul_integer(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    return _product(ctx, inputs, (0, 2), (1, 3))


def _conv_integer(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    return _convolution(ctx, inputs, attrs, (0, 2), (1, 3))


def _qlinear_mat_mul(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    total = ctx.emit(_product(ctx, inputs, (0, 2), (3, 5)))
    scale = factor(ctx, inputs, (1, 4, 6), [1, -1], [-1, 1])
    return requantise(ctx, total, scale, inputs, 7, inputs.dtype(7))


def _qlinear_conv(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    total = _convolution(ctx, inputs, attrs, (0, 2), (3, 5))
    if inputs.has(8):
        total = ctx.emit(with_bias(ctx, inputs, 8, total))
    scale = factor(ctx, inputs, (1, 4, 6), [1, -1] + [1] * (inputs.rank(0) - 2))
    return requantise(ctx, total, scale, inputs, 7, inputs.dtype(7))


# fmt: off
OPERATORS = [
    row("MatMul", "``matmul``", labels=matmul(0, 1)),
    row("MatMulInteger", "``matmul``; zero points per row of A, per column of B", Composite,
        labels=numbered(matmul(0, 1), (0, -2, (2,)), (1, -1, (3,))), expand=_mat_mul_integer),
    row("ConvInteger", "Convolution of integers", Composite, slow=True,
        labels=numbered(convolution(0, 1), (1, 0, (3,))), expand=_conv_integer),
    row("QLinearMatMul", "``matmul``, then requantised", Composite,
        labels=numbered(matmul(0, 3), (0, -2, (1, 2)), (3, -1, (4, 5))), expand=_qlinear_mat_mul),
    row("QLinearConv", "Convolution of integers, then requantised", Composite, slow=True,
        labels=numbered(convolution(0, 3), (3, 0, (4, 5))), expand=_qlinear_conv),
]
# fmt: on
