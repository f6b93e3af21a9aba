"""Pow; base and exponent may be of different types."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from operator import mul
from typing import Any

import numpy as np
from tvm import relax, te, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from ...dims import Dim
from ...relax_tools.tir_kernels import local
from ...shapes.arithmetic import Known, elementwise
from ...shapes.sizes import Item, NotShapes, Real
from .. import Attrs, Context, Inputs, Result
from ..common.context import expr_dtype
from ..common.elementwise import Binary


def whole_power(ctx: Context, base: relax.Expr, exponents: relax.Expr) -> relax.Expr:
    """``base ** exponents`` under NumPy broadcasting, in the type of `base`.

    Exact, and the low bits where a power does not fit: through reals it would be exact up to 2**53.
    Of a negative exponent it is the real power without its fraction; 0 to such a power is 0.
    """
    like = relax.op.add(base, relax.op.astype(exponents, expr_dtype(base)))
    shape = ctx.shape(ctx.builder.normalize(like))
    operands = [
        x if ctx.shape_or_none(x) == shape else ctx.emit(relax.op.broadcast_to(x, ctx.prims(shape)))
        for x in (base, exponents)
    ]

    def power(x: te.Tensor, e: te.Tensor) -> te.Tensor:
        kinds = str(x.dtype.dtype), str(e.dtype.dtype)
        return te.extern(
            [x.shape],
            [x, e],
            lambda ins, outs: _kernel([*ins, *outs], prod(x.shape), *kinds),
            dtype=[kinds[0]],
            name="power",
        )

    return ctx.builder.emit_te(power, *operands)


def _kernel(buffers: Sequence[Any], count: Any, dtype: str, exponent: str) -> tirx.Stmt:
    """Square and multiply, a bit of the exponent after the other."""
    bits = int(exponent.lstrip("uint"))
    zero, one = (tirx.const(v, dtype) for v in (0, 1))
    none, low = (tirx.const(v, exponent) for v in (0, 1))
    with IRBuilder() as builder:
        base, exponents, result = (T.buffer_proxy(b) for b in buffers)
        with T.parallel(0, count) as i:
            square, product = local(dtype), local(dtype)
            square[0], product[0] = base[i], one
            with T.serial(0, bits) as k:
                set_ = (exponents[i] >> tirx.Cast(exponent, k)) & low
                product[0] = product[0] * tirx.Select(set_ != none, square[0], one)
                square[0] = square[0] * square[0]
            if not exponent.startswith("uint"):
                odd = (exponents[i] & low) != none
                unit = tirx.any(base[i] == one, tirx.all(_is_minus_one(base[i], dtype), odd))
                left = tirx.Select(unit, base[i], tirx.Select(
                    _is_minus_one(base[i], dtype), one, zero))  # fmt: skip
                product[0] = tirx.Select(exponents[i] < none, left, product[0])
            result[i] = product[0]
    return builder.get()


def _is_minus_one(value: Any, dtype: str) -> Any:
    if dtype.startswith("uint"):
        return tirx.const(False, "bool")
    return value == tirx.const(-1, dtype)


#: Types each of whose numbers is an f32.
_SMALL = ("int8", "uint8", "int16", "uint16", "float16", "bfloat16", "float32")


class Pow(Binary):
    """``power``; products and ``sqrt`` for the exponents 1, 2, 3 and 0.5, which are exact.

    So are powers of integers by integers.
    """

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
        exponents = self.second(ctx, inputs, attrs)
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
