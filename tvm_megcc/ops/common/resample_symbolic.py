"""Interpolation along an axis whose dims or scale are known at run time only.

The counterpart of `common.resample`: the table is computed at run time, as vectors of the output's
length, by the same f32 arithmetic. Enters: a tensor and how one of its axes is to be resampled.
Leaves: the resampled tensor, and which of its elements lie outside the input.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from tvm import relax

from ...dims import Size
from .antialias_data import filtered
from .context import Context, expr_dtype
from .fixed_point import table_at_run_time
from .resample import NEAR, Options

Expr: TypeAlias = relax.Expr
op = relax.op
#: A number of the model, or one that is computed at run time, as ``float32[1]``.
Number: TypeAlias = float | Expr


@dataclass(frozen=True, slots=True)
class OpenAxis:
    """One axis to be resampled: ``size`` elements to ``out``.

    ``scale`` is the model's, None where it is the quotient of the dims; ``roi`` the part
    of the axis that ``tf_crop_and_resize`` maps to the output, as fractions.
    """

    size: Size
    out: Size
    scale: Number | None
    roi: tuple[Number, Number] = (0.0, 1.0)


def resampled(
    ctx: Context, data: Expr, axis: int, part: OpenAxis, options: Options, finite: bool
) -> Expr:
    """``data`` with axis number `axis` brought to ``part.out`` elements.

    ``finite`` says that it has no infinities and no NaN.
    """
    table = _Table(ctx, part)
    position = table.positions(options.coordinates)
    if options.mode == "nearest":
        index = _ROUND[options.rounding](table, position)
        return table.take(data, index, axis)
    if options.antialias:
        return filtered(ctx, data, axis, position, table.scale, part.size, options, finite)
    behind = len(ctx.shape(data)) - 1 - axis
    total: Expr | None = None
    for index, weight in _taps(table, position, options):
        weight = ctx.emit(op.astype(weight, expr_dtype(data)))
        weight = ctx.reshape(weight, [part.out] + [1] * behind)
        term = ctx.emit(op.multiply(table.take(data, index, axis), weight))
        if not finite:  # what has no weight adds nothing: 0 times an infinity or NaN is NaN
            zero = ctx.const(0, expr_dtype(data))
            term = ctx.emit(op.where(op.equal(weight, zero), zero, term))
        total = ctx.emit(term if total is None else op.add(total, term))
    assert total is not None
    return total


def fixed_point_table(ctx: Context, part: OpenAxis, options: Options) -> Expr:
    """The weights of an axis of 8-bit integers, ``int32[size, out]``."""
    table = _Table(ctx, part)
    where = table.positions(options.coordinates)
    return table_at_run_time(ctx, where, table.scale, part.size, options)


def outside(ctx: Context, part: OpenAxis, behind: int) -> Expr:
    """Output elements that ``tf_crop_and_resize`` takes from outside the input.

    One axis of that many bools, and ``behind`` axes of 1.
    """
    table = _Table(ctx, part)
    where = table.positions("tf_crop_and_resize")
    far = op.logical_or(op.less(where, table.number(0.0)), op.greater(where, table.last))
    return ctx.reshape(ctx.emit(far), [part.out] + [1] * behind)


class _Table:
    """The output's positions, and the numbers that they are mapped with."""

    def __init__(self, ctx: Context, part: OpenAxis) -> None:
        self.ctx = ctx
        self.size, self.given, self.roi = part.size, part.scale, part.roi
        self.ramp = ctx.emit(op.astype(op.arange(0, ctx.prim(part.out), 1, "int64"), "float32"))
        self.last = self.number(part.size - 1)
        self.outs = self.number(part.out)
        if part.scale is None:
            self.scale = ctx.emit(op.divide(self.outs, self.number(part.size)))
        else:
            self.scale = self.number(part.scale)

    def number(self, value: Number | Size) -> Expr:
        """A number as ``float32[1]``, or ``float32`` where it is known."""
        if isinstance(value, relax.Expr):
            return value
        if isinstance(value, float):
            return self.ctx.const(value, "float32")
        return self.ctx.sizes([value], "float32")

    @property
    def several(self) -> Expr:
        """Whether the output has more than one element."""
        return op.greater(self.outs, self.number(1.0))

    @property
    def gaps(self) -> Expr:
        """The output's elements less one; 1 where that is 0, as it divides."""
        return op.maximum(op.subtract(self.outs, self.number(1.0)), self.number(1.0))

    def positions(self, coordinates: str) -> Expr:
        """Where in the input each output element lies."""
        where = self.ctx.emit(_COORDINATES[coordinates](self))
        if coordinates == "tf_crop_and_resize":
            return where
        same = op.equal(self.scale, self.number(1.0))
        return self.ctx.emit(op.where(same, self.ramp, where))

    def take(self, data: Expr, index: Expr, axis: int) -> Expr:
        """Elements of the data; an index outside takes the element at the border."""
        index = op.minimum(op.maximum(index, self.number(0.0)), self.last)
        return self.ctx.emit(op.take(data, op.astype(index, "int64"), axis, "clip"))


def _half_pixel(t: _Table) -> Expr:
    return op.subtract(_tf_half_pixel(t), t.number(0.5))


def _tf_half_pixel(t: _Table) -> Expr:
    return op.divide(op.add(t.ramp, t.number(0.5)), t.scale)


def _symmetric(t: _Table) -> Expr:
    adjustment = op.divide(t.outs, op.multiply(t.scale, t.number(t.size)))
    half = op.divide(t.number(t.size), t.number(2.0))
    offset = op.multiply(half, op.subtract(t.number(1.0), adjustment))
    # The last steps in f64, as in ONNX Runtime: what is halfway depends on the last bit.
    ramp, scale, offset = (op.astype(v, "float64") for v in (t.ramp, t.scale, offset))
    half = t.ctx.const(0.5, "float64")
    where = op.add(offset, op.divide(op.add(ramp, half), scale))
    return op.astype(op.subtract(where, half), "float32")


def _crop(t: _Table) -> Expr:
    """Source coordinates of ``tf_crop_and_resize``.

    In f64 as in `common.resample`, so that the ends of a region do not leave the image.
    """
    start, end, last, gaps, ramp = (
        t.ctx.emit(op.astype(v, "float64"))
        for v in (*(t.number(v) for v in t.roi), t.last, t.gaps, t.ramp)
    )
    half = t.ctx.const(0.5, "float64")
    middle = op.multiply(op.multiply(op.add(start, end), half), last)
    ends = op.add(op.multiply(start, op.subtract(gaps, ramp)), op.multiply(end, ramp))
    spread = op.divide(op.multiply(ends, last), gaps)
    return op.astype(op.where(t.several, spread, middle), "float32")


_COORDINATES: dict[str, Callable[[_Table], Expr]] = {
    "asymmetric": lambda t: op.divide(t.ramp, t.scale),
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _symmetric,
    "pytorch_half_pixel": lambda t: op.where(t.several, _half_pixel(t), t.number(0.0)),
    # One element lies at 0.
    "align_corners": lambda t: op.divide(op.multiply(t.ramp, t.last), t.gaps),
    "tf_half_pixel_for_nn": _tf_half_pixel,
    "tf_crop_and_resize": _crop,
}


def _plus(t: _Table, x: Expr, number: float) -> Expr:
    return op.add(x, t.number(number))


def _simple(t: _Table, x: Expr) -> Expr:
    if isinstance(t.given, float):
        return op.ceil(x) if t.given < 1 else op.floor(x)
    return op.where(op.greater_equal(t.scale, t.number(1.0)), op.floor(x), op.ceil(x))


_ROUND: dict[str, Callable[[_Table, Any], Expr]] = {
    "round_prefer_floor": lambda t, x: op.ceil(_plus(t, _plus(t, x, -0.5), -NEAR)),
    "round_prefer_ceil": lambda t, x: op.floor(_plus(t, _plus(t, x, 0.5), NEAR)),
    "floor": lambda t, x: op.floor(x),
    "ceil": lambda t, x: op.ceil(x),
    "simple": _simple,
}


def _taps(t: _Table, where: Expr, options: Options) -> list[tuple[Expr, Expr]]:
    """Which elements, with which weights; those outside stand for the border or are left out."""
    ctx = t.ctx
    if options.mode == "linear" and not options.exclude_outside:
        where = ctx.emit(op.minimum(op.maximum(where, t.number(0.0)), t.last))
    first = ctx.emit(op.floor(where))
    part = ctx.emit(op.subtract(where, first))
    rest = ctx.emit(op.subtract(t.number(1.0), part))
    if options.mode == "linear":
        rows = [(0.0, rest), (1.0, part)]
    else:
        near, far = _keys(t, options.cubic)
        one = t.number(1.0)
        rows = [(-1.0, far(op.add(part, one))), (0.0, near(part)), (1.0, near(rest)),
                (2.0, far(op.add(rest, one)))]  # fmt: skip
    taps = [(ctx.emit(op.add(first, t.number(by))), ctx.emit(weight)) for by, weight in rows]
    return _within(t, taps) if options.exclude_outside else taps


def _within(t: _Table, taps: list[tuple[Expr, Expr]]) -> list[tuple[Expr, Expr]]:
    """Weights without those of elements outside the input, with the same sum."""
    ctx, zero = t.ctx, t.number(0.0)
    kept = []
    for index, weight in taps:
        inside = op.logical_and(op.greater_equal(index, zero), op.less_equal(index, t.last))
        kept.append((index, ctx.emit(op.where(inside, weight, zero))))
    total = kept[0][1]
    for _, weight in kept[1:]:
        total = ctx.emit(op.add(total, weight))
    return [(index, ctx.emit(op.divide(weight, total))) for index, weight in kept]


def _keys(t: _Table, a: float) -> tuple[Callable[[Expr], Expr], Callable[[Expr], Expr]]:
    """The cubic convolution kernel of Keys (1981), for distances to 1 and from 1 to 2."""

    def polynomial(*factors: float) -> Callable[[Expr], Expr]:
        def value(x: Expr) -> Expr:
            x = t.ctx.emit(x)
            total = t.number(factors[0])
            for factor in factors[1:]:
                total = op.add(op.multiply(total, x), t.number(factor))
            return total

        return value

    return polynomial(a + 2, -(a + 3), 0.0, 1.0), polynomial(a, -5 * a, 8 * a, -4 * a)
