"""Powers of integers by integers: exact, and where they do not fit, their low bits.

By a function of reals they were exact up to 2**53 only.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tvm import relax, te, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from .context import Context, expr_dtype
from .scratch import local


def whole_power(ctx: Context, base: relax.Expr, exponents: relax.Expr) -> relax.Expr:
    """``base ** exponents`` under NumPy broadcasting, in the type of `base`.

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
