"""Operators of single elements: TVM's conversions, and functions of operands that broadcast.

``on_sizes`` computes an operator's result for operands that hold sizes (`shapes.arithmetic`).
"""

from __future__ import annotations

from operator import add, mul, neg, sub

from tvm.relax import op

from ...shapes.arithmetic import (
    elementwise,
    equal,
    less,
    maximum,
    minimum,
    rounded,
    size,
    truth,
    variadic,
)
from ...shapes.constraints import broadcast
from ...shapes.sizes import Real
from ..common.elementwise import Binary, Variadic
from ..common.rows import row

# fmt: off
OPERATORS = [
    row("Abs", "``abs``", on_sizes=elementwise(lambda a: maximum(a, -a))),
    row("Ceil", "``ceil``", on_sizes=elementwise(rounded(Real.ceil))),
    row("Floor", "``floor``", on_sizes=elementwise(rounded(Real.floor))),
    row("Round", "``round``, halves to even", on_sizes=elementwise(rounded(Real.round))),
    row("Neg", "``negative``", on_sizes=elementwise(neg)),
    row("Reciprocal", "``1 / x``", on_sizes=elementwise(lambda a: Real(1) / Real.of(a))),
    row("Not", "``logical_not``", on_sizes=truth(lambda a: 1 - size(a))),

    row("BitShift", "``left_shift`` or ``right_shift``", labels=broadcast()),
    row("BitwiseAnd", "``bitwise_and``", labels=broadcast()),
    row("BitwiseOr", "``bitwise_or``", labels=broadcast()),
    row("BitwiseXor", "``bitwise_xor``", labels=broadcast()),

    row("Add", "``add``", Binary, function=op.add, on_sizes=elementwise(add)),
    row("Sub", "``subtract``", Binary, function=op.subtract, on_sizes=elementwise(sub)),
    row("Mul", "``multiply``", Binary, function=op.multiply, on_sizes=elementwise(mul)),

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
    row("Sum", "``add``", Variadic, function=op.add, on_sizes=variadic(add)),
]
# fmt: on
