"""Positions of the maxima of MaxPool's windows: its output Indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax, te, tirx

from .context import Context, expr_dtype
from .window import Window

#: Behind the number of every element: of those that are as large only where subnormals are 0.
_FLUSHED = 1 << 62
_NONE = (1 << 63) - 1
#: The smallest normal number of f32.
_TINY = 2.0**-126


def max_indices(
    ctx: Context, data: relax.Expr, pooled: relax.Expr, win: Window, by_column: bool
) -> relax.Expr:
    """``int64``, of the first element of each window that equals its maximum.

    The maximum may be 0 for what is subnormal, as NEON of Armv7 computes, where the comparison here
    is one of scalars and sees that they are not the same.

    Parameters
    ----------
    data : relax.Expr
        ``[N, C, dims...]``, without paddings.
    pooled : relax.Expr
        The maxima.
    by_column : bool
        ``storage_order``: whether a plane is counted with its first dim running fastest.
    """
    rank = len(win.kernel)
    dtype = expr_dtype(data)

    def find(x: te.Tensor, best: te.Tensor, before: Sequence[tirx.PrimExpr]) -> te.Tensor:
        dims = x.shape[2:]
        taps = [te.reduce_axis((0, k), name=f"k{i}") for i, k in enumerate(win.kernel)]

        def first(*at: Any) -> Any:
            place = [
                at[2 + i] * win.strides[i] + taps[i] * win.dilations[i] - before[i]
                for i in range(rank)
            ]
            number = tirx.Cast("int64", at[0] * x.shape[1] + at[1])
            for p, size in zip(place, dims, strict=True):
                number = number * size + p
            value, wanted = x[(*at[:2], *place)], best[at]
            found = value == wanted
            if "float" in dtype:
                found = tirx.any(found, tirx.all(tirx.isnan(value), tirx.isnan(wanted)))
            inside = tirx.all(*(tirx.all(p >= 0, p < s) for p, s in zip(place, dims, strict=True)))
            none = tirx.const(_NONE, "int64")
            number = tirx.Cast("int64", number)
            other = none
            if dtype == "float32":
                tiny = tirx.const(_TINY, dtype)
                flushed = tirx.all(tirx.abs(value) < tiny, tirx.abs(wanted) < tiny)
                other = tirx.if_then_else(flushed, number + tirx.const(_FLUSHED, "int64"), none)
            return te.min(
                tirx.if_then_else(inside, tirx.if_then_else(found, number, other), none), axis=taps
            )

        places = te.compute(best.shape, first, name="first")
        if dtype == "float32":
            places = _with_numbers(places, lambda n: n & tirx.const(_FLUSHED - 1, "int64"))
        if by_column and rank > 1:
            sizes = [tirx.Cast("int64", size) for size in dims]
            places = _with_numbers(places, lambda n: _by_column(n, sizes))
        return places

    before = relax.ShapeExpr(ctx.prims(win.before))
    return ctx.emit(ctx.builder.call_te(find, data, pooled, before))


def _with_numbers(places: te.Tensor, of: Callable[[Any], Any]) -> te.Tensor:
    return te.compute(places.shape, lambda *at: of(places[at]), name="places")


def _by_column(number: Any, sizes: Sequence[Any]) -> Any:
    """The number of an element whose plane is counted with its first dim running fastest."""
    rest, turned, step = number, tirx.const(0, "int64"), tirx.const(1, "int64")
    places = []
    for size in reversed(sizes):
        places.append(tirx.floormod(rest, size))
        rest = tirx.floordiv(rest, size)
    for place, size in zip(reversed(places), sizes, strict=True):
        turned, step = turned + place * step, step * size
    return rest * step + turned
