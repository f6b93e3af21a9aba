"""Interpolation along an axis whose dims depend on the shapes: the table is computed at run time.

The counterpart of `_resample`, on vectors of the output's length; the same f32 arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax

from ..dims import Size, compare, select
from . import Context
from ._context import expr_dtype
from ._resample import Options

Expr = relax.Expr
op = relax.op


def resampled(
    ctx: Context,
    data: Expr,
    axis: int,
    size: Size,
    out: Size,
    scale: float | None,
    options: Options,
) -> Expr:
    """``data`` with axis number `axis` of `size` elements brought to `out`.

    Parameters
    ----------
    scale : float, optional
        What the model says; where it says nothing, the quotient of the dims.

    Raises
    ------
    UnsupportedError
        The mode needs a table that is made at compile time.
    """
    where = _COORDINATES.get(options.coordinates)
    plain = not options.antialias and not options.exclude_outside
    if options.mode not in ("nearest", "linear") or not plain or where is None:
        raise ctx.unsupported(
            f"mode '{options.mode}' ('{options.coordinates}') over a symbolic dim",
            "fix the dim with --input-shapes",
        )
    table = _Table(ctx, size, out, scale)
    position = where(table)
    last = ctx.sizes([size - 1], "float32")
    zero = ctx.const(0.0, "float32")
    if options.mode == "nearest":
        index = ctx.emit(_ROUND[options.rounding](table, position))
        index = ctx.emit(op.minimum(ctx.emit(op.maximum(index, zero)), last))
        return ctx.emit(op.take(data, ctx.emit(op.astype(index, "int64")), axis, "clip"))
    position = ctx.emit(op.minimum(ctx.emit(op.maximum(position, zero)), last))
    first = ctx.emit(op.floor(position))
    second = ctx.emit(op.minimum(ctx.emit(op.add(first, ctx.const(1.0, "float32"))), last))
    part = ctx.emit(op.astype(ctx.emit(op.subtract(position, first)), expr_dtype(data)))
    weight = ctx.reshape(part, [out] + [1] * (len(ctx.shape(data)) - 1 - axis))
    low, high = (
        ctx.emit(op.take(data, ctx.emit(op.astype(index, "int64")), axis, "clip"))
        for index in (first, second)
    )
    rest = ctx.emit(op.subtract(ctx.const(1.0, expr_dtype(data)), weight))
    return ctx.emit(op.add(ctx.emit(op.multiply(low, rest)), ctx.emit(op.multiply(high, weight))))


class _Table:
    """The output's positions, and the numbers that they are mapped with."""

    def __init__(self, ctx: Context, size: Size, out: Size, scale: float | None) -> None:
        self.ctx = ctx
        self.size, self.out, self.given = size, out, scale
        ramp = ctx.emit(op.arange(0, ctx.prim(out), 1, "int64"))
        self.ramp = ctx.emit(op.astype(ramp, "float32"))

    def number(self, value: float | Size) -> Expr:
        if isinstance(value, float):
            return self.ctx.const(value, "float32")
        return self.ctx.sizes([value], "float32")

    @property
    def scale(self) -> Expr:
        if self.given is not None:
            return self.number(self.given)
        return self.ctx.emit(op.divide(self.number(self.out), self.number(self.size)))

    def shifted(self, x: Expr, by: float) -> Expr:
        return self.ctx.emit(op.add(x, self.number(by)))


def _asymmetric(t: _Table) -> Expr:
    return t.ctx.emit(op.divide(t.ramp, t.scale))


def _half_pixel(t: _Table) -> Expr:
    return t.shifted(_tf_half_pixel(t), -0.5)


def _tf_half_pixel(t: _Table) -> Expr:
    return t.ctx.emit(op.divide(t.shifted(t.ramp, 0.5), t.scale))


def _several(t: _Table) -> Expr:
    """1 where the output has more than one element, else 0."""
    return t.number(compare("lt", 1, t.out))


def _pytorch(t: _Table) -> Expr:
    return t.ctx.emit(op.multiply(_half_pixel(t), _several(t)))


def _align_corners(t: _Table) -> Expr:
    scaled = t.ctx.emit(op.multiply(t.ramp, t.number(t.size - 1)))
    # One element lies at 0: there the divisor may be anything but 0.
    gaps = select(compare("lt", 1, t.out), t.out - 1, 1)
    return t.ctx.emit(op.divide(scaled, t.number(gaps)))


_COORDINATES: dict[str, Callable[[_Table], Expr]] = {
    "asymmetric": _asymmetric,
    "half_pixel": _half_pixel,
    "pytorch_half_pixel": _pytorch,
    "align_corners": _align_corners,
    "tf_half_pixel_for_nn": _tf_half_pixel,
}


def _simple(t: _Table, x: Expr) -> Expr:
    if t.given is not None:
        return op.ceil(x) if t.given < 1 else op.floor(x)
    grows = t.ctx.emit(op.greater_equal(t.scale, t.number(1.0)))
    return op.where(grows, t.ctx.emit(op.floor(x)), t.ctx.emit(op.ceil(x)))


_ROUND: dict[str, Callable[[_Table, Any], Expr]] = {
    "round_prefer_floor": lambda t, x: op.ceil(t.shifted(x, -0.5)),
    "round_prefer_ceil": lambda t, x: op.floor(t.shifted(x, 0.5)),
    "floor": lambda t, x: op.floor(x),
    "ceil": lambda t, x: op.ceil(x),
    "simple": _simple,
}
