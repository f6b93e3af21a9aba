"""Operators of single elements: TVM's conversions, and functions of operands that broadcast.

``on_sizes`` computes an operator's result for operands that hold sizes (`shapes.arithmetic`).
"""

from __future__ import annotations

from functools import reduce
from operator import add, mul, neg, sub

import numpy as np
from tvm.relax import op

from ...shapes.arithmetic import (
    chosen,
    divided,
    elementwise,
    equal,
    less,
    maximum,
    minimum,
    rounded,
    sign,
    size,
    truth,
    variadic,
)
from ...shapes.constraints import broadcast
from ...shapes.sizes import Real
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.elementwise import Binary, Variadic
from ..common.rows import row
from ..common.stock import convert


def _div(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    known, dtype = inputs.known(1), inputs.dtype(0)
    if known is not None and known.size == 1 and dtype == "float32":
        value = float(known.reshape(-1)[0])
        exact = value != 0 and abs(value).hex().startswith("0x1.0000000000000p")
        if exact and 1e-30 < abs(value) < 1e30 and known.ndim <= inputs.rank(0):
            return op.multiply(inputs[0], ctx.const(1 / value, dtype))
    return op.divide(inputs[0], Binary.second(ctx, inputs, attrs))


def _is_inf(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    positive, negative = (bool(attrs.get(f"detect_{s}", 1)) for s in ("positive", "negative"))
    if positive and negative:
        return op.isinf(inputs[0])
    if not positive and not negative:
        return op.full(ctx.prims(inputs.shape(0)), ctx.const(False, "bool"), "bool")
    return op.equal(inputs[0], ctx.const(np.inf if positive else -np.inf, inputs.dtype(0)))


def _mean(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    return op.divide(reduce(op.add, inputs), ctx.const(len(inputs), inputs.dtype(0)))


def _sign(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    """NaN is its own sign; unsigned integers have no -1."""
    x, dtype = inputs[0], inputs.dtype(0)
    zero, one = ctx.const(0, dtype), ctx.const(1, dtype)
    if dtype.startswith("uint"):
        return op.minimum(x, one)
    if "float" not in dtype:
        return op.sign(x)
    low = op.where(op.less(x, zero), ctx.const(-1, dtype), x)
    return op.where(op.greater(x, zero), one, ctx.emit(low))


def _where(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    """TVM takes bools beside any other type."""
    first, second = inputs.dtype(1), inputs.dtype(2)
    if (first == "bool") != (second == "bool"):
        raise ctx.ill_typed(f"it chooses between {first} and {second}")
    return convert(ctx, inputs, attrs)


# fmt: off
OPERATORS = [
    row("Abs", "``abs``", on_sizes=elementwise(lambda a: maximum(a, -a))),
    row("Ceil", "``ceil``", on_sizes=elementwise(rounded(Real.ceil))),
    row("Floor", "``floor``", on_sizes=elementwise(rounded(Real.floor))),
    row("Round", "``round``, halves to even", on_sizes=elementwise(rounded(Real.round))),
    row("Neg", "``negative``", on_sizes=elementwise(neg)),
    row("Reciprocal", "``1 / x``", on_sizes=elementwise(lambda a: Real(1) / Real.of(a))),
    row("Sign", "``sign``", OnnxOp, convert=_sign, on_sizes=elementwise(sign)),
    row("IsInf", "``isinf``, or a comparison with one infinity", OnnxOp, convert=_is_inf),
    row("Not", "``logical_not``", on_sizes=truth(lambda a: 1 - size(a))),

    row("BitShift", "``left_shift`` or ``right_shift``", labels=broadcast()),
    row("BitwiseAnd", "``bitwise_and``", labels=broadcast()),
    row("BitwiseOr", "``bitwise_or``", labels=broadcast()),
    row("BitwiseXor", "``bitwise_xor``", labels=broadcast()),

    row("Add", "``add``", Binary, function=op.add, on_sizes=elementwise(add)),
    row("Sub", "``subtract``", Binary, function=op.subtract, on_sizes=elementwise(sub)),
    row("Mul", "``multiply``", Binary, function=op.multiply, on_sizes=elementwise(mul)),
    row("Div", "``divide``, or ``multiply`` by the reciprocal of a power of two", Binary,
        convert=_div, on_sizes=elementwise(divided)),

    row("And", "``logical_and``", Binary, function=op.logical_and,
        on_sizes=truth(lambda a, b: size(a) * size(b))),
    row("Or", "``logical_or``", Binary, function=op.logical_or,
        on_sizes=truth(lambda a, b: size(a) + size(b) - size(a) * size(b))),
    row("Xor", "``logical_xor``", Binary, function=op.logical_xor,
        on_sizes=truth(lambda a, b: 1 - equal(a, b))),

    row("Equal", "``equal``", Binary, function=op.equal, on_sizes=truth(equal)),
    row("Greater", "``greater``", Binary, function=op.greater,
        on_sizes=truth(lambda a, b: less(b, a))),
    row("GreaterOrEqual", "``greater_equal``", Binary, function=op.greater_equal,
        on_sizes=truth(lambda a, b: 1 - less(a, b))),
    row("Less", "``less``", Binary, function=op.less, on_sizes=truth(less)),
    row("LessOrEqual", "``less_equal``", Binary, function=op.less_equal,
        on_sizes=truth(lambda a, b: 1 - less(b, a))),

    row("Max", "``maximum``", Variadic, function=op.maximum, on_sizes=variadic(maximum)),
    row("Min", "``minimum``", Variadic, function=op.minimum, on_sizes=variadic(minimum)),
    row("Mean", "``add``, divided by the number of operands", OnnxOp,
        labels=broadcast(), convert=_mean),
    row("Sum", "``add``", Variadic, function=op.add, on_sizes=variadic(add)),
    row("Where", "``where``, of two operands of one type", carries=(1, 2), labels=broadcast(),
        convert=_where, on_sizes=elementwise(chosen, like=1)),
]
# fmt: on
