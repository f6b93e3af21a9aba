"""Padding by widths that are computed at run time, or depend on the shapes.

Enters: a tensor, and widths before and after each of some axes. Leaves: the padded tensor, whose
dims are read, or expressions of the shapes. Each axis gets a table that says which element stands
at each position of the result, -1 where the fill value does; one kernel then gathers along all
axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from tvm import relax, te, tirx

from ...dims import Size
from ...shapes.read_from_data import sizes_from
from .context import Context, expr_dtype
from .inputs import Inputs

Expr: TypeAlias = relax.Expr
op = relax.op

#: Wider than any tensor, and far from where int64 ends.
_FAR = 1 << 40


def padded_by_data(
    ctx: Context, data: Expr, widths: Expr, axes: Sequence[int], mode: str, fill: Expr
) -> Expr:
    """``data`` padded; dims that would be negative are refused, and so is to repeat nothing.

    Parameters
    ----------
    widths : Expr
        ``int64[2 * len(axes)]``: before each axis, then after; negative ones crop.
    mode : str
        ``constant``, ``edge``, ``reflect`` or ``wrap``, the latter three of what is left after
        cropping, as often as it takes.
    fill : Expr
        One element of the data's type.
    """
    shape, count = list(ctx.shape(data)), len(axes)
    near = op.clip(widths, -_FAR, _FAR)
    before, after = (
        ctx.emit(op.strided_slice(near, [0], [k * count], [(k + 1) * count])) for k in (0, 1)
    )
    zero = ctx.const(0, "int64")
    first = ctx.emit(op.negative(op.minimum(before, zero)))
    dims = ctx.sizes([shape[axis] for axis in axes], "int64")
    kept = ctx.emit(op.subtract(op.add(dims, op.minimum(after, zero)), first))
    length = op.add(dims, op.add(before, after))
    if mode != "constant":  # something has to be left to repeat, unless nothing is asked for
        enough = op.greater_equal(kept, op.minimum(length, ctx.const(1, "int64")))
        length = op.where(enough, length, ctx.const(-1, "int64"))
    length = ctx.emit(length)
    sizes = sizes_from(ctx, length, [f"dim{axis}" for axis in axes], [None] * count)
    tables: list[Expr] = []
    for k, size in enumerate(sizes):
        own = [ctx.emit(op.strided_slice(v, [0], [k], [k + 1])) for v in (before, first, kept)]
        tables.append(_table(ctx, size, own[0], own[1], own[2], mode))
    return _gathered(ctx, data, axes, sizes, tables, fill)


def padded_by_sizes(
    ctx: Context, data: Expr, before: Sequence[Size], after: Sequence[Size], mode: str
) -> Expr:
    """``data`` padded by widths of every axis that depend on the shapes and are not negative.

    Parameters
    ----------
    mode : str
        ``edge``, ``reflect`` or ``wrap``; an axis that is padded has at least one element.
    """
    shape = ctx.shape(data)
    axes = [k for k in range(len(shape)) if (before[k], after[k]) != (0, 0)]
    sizes = [before[k] + shape[k] + after[k] for k in axes]
    zero = ctx.const([0], "int64")
    tables = [
        _table(ctx, n, ctx.sizes([before[k]], "int64"), zero, ctx.sizes([shape[k]], "int64"), mode)
        for k, n in zip(axes, sizes, strict=True)
    ]
    return _gathered(ctx, data, axes, sizes, tables, ctx.const([0], expr_dtype(data)))


def spread(ctx: Context, widths: Expr, inputs: Inputs, index: int, rank: int) -> Expr:
    """Widths of axes that operand `index` names at run time, as widths of all axes.

    An axis that there is not, or that repeats, makes every width one that is refused.
    """
    (count,) = inputs.static_shape(index)
    number = ctx.const(rank, "int64")
    axes = ctx.emit(op.astype(inputs[index], "int64"))
    zero = ctx.const(0, "int64")
    axes = ctx.emit(op.where(op.less(axes, zero), op.add(axes, number), axes))
    there = op.logical_and(op.greater_equal(axes, zero), op.less(axes, number))
    same = op.equal(op.reshape(axes, [1, count]), ctx.const([[k] for k in range(rank)], "int64"))
    same = ctx.emit(op.reshape(op.astype(same, "int64"), [1, rank, count]))
    once = op.less_equal(op.sum(same, axis=[2]), ctx.const(1, "int64"))
    fine = op.min(op.concat([op.astype(v, "int64") for v in (there, op.reshape(once, [rank]))]))
    missing = op.subtract(ctx.const(1, "int64"), fine)
    each = op.reshape(op.clip(widths, -_FAR, _FAR), [2, 1, count])
    full = op.sum(op.multiply(each, same), axis=[2])
    full = op.subtract(full, op.multiply(missing, ctx.const(_FAR, "int64")))
    return ctx.emit(op.reshape(full, [2 * rank]))


def _table(ctx: Context, size: Size, before: Expr, first: Expr, kept: Expr, mode: str) -> Expr:
    """``int64[size]``: the element of the axis at each position, -1 for the fill value."""
    ramp = op.arange(0, ctx.prim(size), 1, "int64")
    at = ctx.emit(op.subtract(op.subtract(ramp, before), first))
    zero, one = ctx.const(0, "int64"), ctx.const(1, "int64")
    last = ctx.emit(op.subtract(kept, one))
    if mode == "constant":
        inside = op.logical_and(op.greater_equal(at, zero), op.less_equal(at, last))
        return ctx.emit(op.where(inside, op.add(at, first), ctx.const(-1, "int64")))
    if mode == "edge":
        at = op.minimum(op.maximum(at, zero), last)
    elif mode == "wrap":
        at = op.floor_mod(at, op.maximum(kept, one))
    else:
        period = op.maximum(op.add(last, last), one)
        at = ctx.emit(op.floor_mod(at, period))
        at = op.minimum(at, op.subtract(period, at))
    return ctx.emit(op.add(at, first))


def _gathered(
    ctx: Context,
    data: Expr,
    axes: Sequence[int],
    sizes: Sequence[Size],
    tables: Sequence[Expr],
    fill: Expr,
) -> Expr:
    """The elements that a table for each of these axes names; the fill value where one is -1."""
    shape: list[Any] = list(data.ty.shape.values)
    for axis, size in zip(axes, sizes, strict=True):
        shape[axis] = ctx.prim(size)

    def pad(x: te.Tensor, value: te.Tensor, *found: te.Tensor) -> te.Tensor:
        def element(*at: Any) -> Any:
            place = list(at)
            for axis, table in zip(axes, found, strict=True):
                place[axis] = table[at[axis]]
            inside = tirx.all(*(place[axis] >= 0 for axis in axes))
            return tirx.if_then_else(inside, x[tuple(place)], value[0])

        return te.compute(shape, element, name="pad")

    return ctx.builder.emit_te(pad, data, fill, *tables)
