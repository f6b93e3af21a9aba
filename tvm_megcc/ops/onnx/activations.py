"""Activation functions: one expression of the operand and the node's attributes.

ONNX's defaults of attributes are f32 numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.activations import elu, hard_sigmoid, leaky, thresholded
from ..common.context import expr_dtype
from ..common.defaults import f32
from ..common.rows import row


def _row(
    name: str, doc: str, function: Callable[..., relax.Expr], **defaults: float
) -> type[OnnxOp]:
    """``function(ctx, x, ...)`` of the operand and attributes, which have these defaults."""

    def convert(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return function(ctx, inputs[0], *(attrs.get(k, v) for k, v in defaults.items()))

    return row(name, doc, OnnxOp, convert=convert)


def _celu(ctx: Context, x: relax.Expr, alpha: float) -> relax.Expr:
    """ONNX's definition by other operators gives this for a positive alpha only."""
    dtype = expr_dtype(x)
    factor, zero, one = (ctx.const(v, dtype) for v in (float(alpha), 0, 1))
    power = ctx.emit(relax.op.exp(ctx.emit(relax.op.divide(x, factor))))
    below = ctx.emit(relax.op.multiply(factor, ctx.emit(relax.op.subtract(power, one))))
    return relax.op.add(relax.op.maximum(x, zero), relax.op.minimum(below, zero))


def _hard_swish(ctx: Context, x: relax.Expr) -> relax.Expr:
    return relax.op.multiply(x, hard_sigmoid(ctx, x, 1 / 6, 0.5))


#: Above, Mish is a line to the last bit of f64; below, the square of exp(x) fits in f32.
_LINE = 40.0


def _mish(ctx: Context, x: relax.Expr) -> relax.Expr:
    """With ``e = exp(x)`` the hyperbolic tangent is ``n / (n + 2)``, where ``n = e * (e + 2)``.

    No sum loses the digits of a small ``e``.
    """
    dtype = expr_dtype(x)
    power = ctx.emit(relax.op.exp(relax.op.minimum(x, ctx.const(_LINE, dtype))))
    two = ctx.const(2, dtype)
    above = ctx.emit(relax.op.multiply(power, relax.op.add(power, two)))
    return relax.op.multiply(x, relax.op.divide(above, relax.op.add(above, two)))


def _selu(ctx: Context, x: relax.Expr, alpha: float, gamma: float) -> relax.Expr:
    curve = ctx.emit(elu(ctx, x, alpha))
    return relax.op.multiply(ctx.const(gamma, expr_dtype(x)), curve)


# fmt: off
OPERATORS = [
    _row("Celu", "``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``", _celu, alpha=1.0),
    _row("Elu", "``where(x > 0, x, alpha * (exp(min(x, 0)) - 1))``", elu, alpha=1.0),
    _row("HardSigmoid", "``clip(x * alpha + beta, 0, 1)``", hard_sigmoid, alpha=0.2, beta=0.5),
    _row("HardSwish", "``x * clip(x / 6 + 0.5, 0, 1)``", _hard_swish),
    _row("LeakyRelu", "``nn.leakyrelu``", leaky, alpha=f32(0.01)),
    _row("Mish", "``x * tanh(log(1 + exp(x)))`` without the logarithm", _mish),
    _row("Selu", "``gamma * elu(x, alpha)``", _selu,
         alpha=1.67326319217681884765625, gamma=1.05070102214813232421875),
    _row("Softplus", "``log(1 + exp(x))``", lambda ctx, x: relax.op.nn.softplus(x)),
    _row("ThresholdedRelu", "``x`` above ``alpha``, else 0", thresholded, alpha=1.0),
]
# fmt: on
