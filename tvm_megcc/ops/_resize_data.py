"""Resize by sizes or scales that are computed at run time: the plan, whose sizes are read.

Enters: the operand with the sizes or the scales of some axes. Leaves: a `Plan`. What is no size of
a tensor, a scale that is not positive, and elements to be made from none become -1, which is
refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax

from ..dims import Size
from . import Context, Inputs
from ._context import relax_shape
from ._data_sizes import sizes_from
from ._resize import Plan

Expr = relax.Expr
op = relax.op

#: Sizes from here on are none.
_FAR = float(1 << 31)


def is_open(ctx: Context, inputs: Inputs, index: int) -> bool:
    """Whether an operand holds floats, a known number of them, that are computed at run time."""
    if not inputs.has(index) or inputs.reals(index) is not None or ctx.speculative:
        return False
    shape = relax_shape(inputs[index])
    return shape is not None and len(shape) == 1 and isinstance(shape[0], int)


def plan_by_scales(ctx: Context, inputs: Inputs, index: int, axes: Sequence[int]) -> Plan:
    """The plan for scales at run time: every dim is rounded down."""
    scales = inputs[index]
    _check_count(ctx, "scales", inputs.static_shape(index)[0], axes)
    sizes = ctx.emit(op.floor(op.multiply(_dims(ctx, inputs, axes), scales)))
    return _plan(ctx, inputs, axes, sizes, scales)


def plan_by_sizes(
    ctx: Context, inputs: Inputs, index: int, axes: Sequence[int], policy: str
) -> Plan:
    """The plan for sizes at run time; ``policy`` is ``keep_aspect_ratio_policy``."""
    _check_count(ctx, "sizes", inputs.static_shape(index)[0], axes)
    wanted, have = inputs[index], _dims(ctx, inputs, axes)
    if policy == "stretch":
        sizes = ctx.emit(op.astype(wanted, "float64"))  # exact as far as sizes go
        return _plan(ctx, inputs, axes, sizes, None)
    scales = ctx.emit(op.divide(op.astype(wanted, "float32"), have))
    choose = op.min if policy == "not_larger" else op.max
    one = choose(scales, axis=[0], keepdims=True)
    scales = ctx.emit(op.broadcast_to(one, [len(axes)]))
    sizes = ctx.emit(op.floor(op.add(op.multiply(scales, have), ctx.const(0.5, "float32"))))
    return _plan(ctx, inputs, axes, sizes, scales)


def _check_count(ctx: Context, what: str, count: int, axes: Sequence[int]) -> None:
    if count != len(axes):
        raise ctx.unsupported(f"{count} {what} for {len(axes)} axes", "give one for each axis")


def _dims(ctx: Context, inputs: Inputs, axes: Sequence[int]) -> Expr:
    return ctx.sizes([inputs.shape(0)[axis] for axis in axes], "float32")


def _plan(
    ctx: Context, inputs: Inputs, axes: Sequence[int], sizes: Expr, scales: Expr | None
) -> Plan:
    """The plan for sizes that are floats still; without scales those are the dims' quotients."""
    dtype = str(sizes.ty.dtype)
    zero, none = ctx.const(0.0, dtype), ctx.const(0.0, "float32")
    valid = op.logical_or(op.greater(_dims(ctx, inputs, axes), none), op.equal(sizes, zero))
    valid = op.logical_and(valid, op.less(op.abs(sizes), ctx.const(_FAR, dtype)))
    if scales is not None:
        valid = op.logical_and(valid, op.greater(scales, none))
    sizes = ctx.emit(op.astype(op.where(valid, sizes, ctx.const(-1.0, dtype)), "int64"))
    found = sizes_from(ctx, sizes, [f"dim{axis}" for axis in axes], [None] * len(axes))
    shape = inputs.shape(0)
    outs: list[Size] = list(shape)
    kept: list[float | Expr | None] = [1.0] * len(shape)
    for k, (axis, size) in enumerate(zip(axes, found, strict=True)):
        outs[axis], kept[axis] = size, None
        if scales is not None:
            kept[axis] = ctx.emit(op.strided_slice(scales, [0], [k], [k + 1]))
    return Plan(tuple(outs), tuple(kept))
