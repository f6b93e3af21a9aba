"""Pow; base and exponent may be of different types."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import Any

import numpy as np
from tvm import relax

from ...dims import Dim
from ...shapes.arithmetic import Known, elementwise
from ...shapes.sizes import Item, NotShapes, Real
from .. import Attrs, Context, Inputs, Result
from ..common.elementwise import Binary
from ..common.powers import whole_power

#: Types each of whose numbers is an f32.
_SMALL = ("int8", "uint8", "int16", "uint16", "float16", "bfloat16", "float32")


class Pow(Binary):
    """``power``; products and ``sqrt`` for the exponents 1, 2, 3 and 0.5, which are exact.

    So are powers of integers by integers.
    """

    name = "Pow"
    function = staticmethod(relax.op.power)

    def on_sizes(self, operands: Sequence[Any], attrs: Attrs) -> Known:
        def power(a: Item, b: Item) -> Item:
            exponent = b.number() if isinstance(b, Real) else b
            if isinstance(exponent, Dim) or exponent not in (1, 2, 3):
                raise NotShapes
            return reduce(mul, [a] * int(exponent))

        return elementwise(power)(operands, attrs)

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        base, dtype = inputs[0], inputs.dtype(0)
        known = inputs.known(1)
        if known is not None and known.size == 1 and known.ndim <= inputs.rank(0):
            exponent = float(known.reshape(-1)[0])
            if exponent == 1.0:
                return base
            if exponent == 2.0:
                return relax.op.multiply(base, base)
            if exponent == 3.0:
                return relax.op.multiply(relax.op.multiply(base, base), base)
            if exponent == 0.5 and "float" in dtype:
                return relax.op.sqrt(_positive(ctx, base, dtype))
        exponents = self._second(ctx, inputs, attrs)
        if "int" in dtype and "int" in inputs.dtype(1):
            return whole_power(ctx, base, exponents)
        if inputs.dtype(1) == dtype:
            return relax.op.power(base, exponents)
        if "float" in dtype and _is_exact(known, inputs.dtype(1), dtype):
            return relax.op.power(base, relax.op.astype(exponents, dtype))
        # The real power, rounded or cut to the type of the base: an exponent that is rounded first
        # may be even instead of odd, or whole.
        real = relax.op.power(
            relax.op.astype(base, "float64"), relax.op.astype(exponents, "float64")
        )
        return relax.op.astype(real, dtype)


def _positive(ctx: Context, x: relax.Expr, dtype: str) -> relax.Expr:
    """Infinities and zeros, which are twice themselves, without their sign; else the same.

    Their powers are positive: of -0 and of -inf a root is not.
    """
    twice = ctx.emit(relax.op.multiply(x, ctx.const(2, dtype)))
    square = ctx.emit(relax.op.multiply(x, x))
    return ctx.emit(relax.op.where(ctx.emit(relax.op.equal(twice, x)), square, x))


def _is_exact(known: np.ndarray | None, exponent: str, dtype: str) -> bool:
    """Whether exponents of another type are numbers of the float type `dtype`, too.

    In f64 they are computed with in any case, by ONNX Runtime and NumPy as well.
    """
    if dtype == "float64" or exponent in _SMALL:
        return True
    if known is None:
        return False
    with np.errstate(over="ignore"):
        rounded = known.astype(dtype).astype("float64")
    return np.array_equal(rounded, known.astype("float64"), equal_nan=True)
