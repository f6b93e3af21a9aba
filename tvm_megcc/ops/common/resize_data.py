"""Resize by sizes or scales that are computed at run time: the plan, whose sizes are read.

Enters: the operand with the sizes or the scales of some axes. Leaves: a `Plan`. What is no size of
a tensor, a scale that is not positive, and elements to be made from none become -1, which is
refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from tvm import relax

from ...dims import Dim, Size
from ...shapes.known_elements import elements, picked
from ...shapes.read_from_data import sizes_from
from .context import Context
from .inputs import Inputs
from .resize import Plan

Expr: TypeAlias = relax.Expr
op = relax.op

#: Sizes from here on are none.
_FAR = float(1 << 31)


def is_open(ctx: Context, inputs: Inputs, index: int) -> bool:
    """Whether an operand holds floats, a known number of them, that are computed at run time."""
    if not inputs.has(index) or inputs.reals(index) is not None:
        return False
    shape = ctx.shape_or_none(inputs[index])
    return shape is not None and len(shape) == 1 and isinstance(shape[0], int)


def plan_by_scales(
    ctx: Context,
    inputs: Inputs,
    index: int,
    axes: Sequence[int],
    known: Sequence[Any],
    plan: Plan,
) -> Plan:
    """A plan with the scales that are not known put in: every dim is rounded down."""
    axes, scales = _open(ctx, inputs, index, axes, known)
    if not axes:
        return plan
    sizes = ctx.emit(op.floor(op.multiply(_dims(ctx, inputs, axes), scales)))
    return _with_read(ctx, inputs, axes, sizes, scales, plan)


def plan_by_rounded_scales(
    ctx: Context, inputs: Inputs, scales: dict[int, float], plan: Plan
) -> Plan:
    """A plan with known scales for some axes, whose sizes no fraction gives.

    A run computes them in f32 and reads them.
    """
    axes = sorted(scales)
    factors = ctx.const([scales[axis] for axis in axes], "float32")
    sizes = ctx.emit(op.floor(op.multiply(_dims(ctx, inputs, axes), factors)))
    read = _with_read(ctx, inputs, axes, sizes, factors, plan)
    kept = [scales.get(axis, scale) for axis, scale in enumerate(read.scales)]
    return replace(read, scales=tuple(kept))


def plan_by_sizes(
    ctx: Context, inputs: Inputs, index: int, axes: Sequence[int], policy: str
) -> Plan:
    """The plan for sizes at run time; ``policy`` is ``keep_aspect_ratio_policy``."""
    outs: list[Size] = list(inputs.shape(0))
    known: list[Any] = [None] * inputs.static_shape(index)[0]
    if len(known) != len(axes):
        raise ctx.unsupported(f"{len(known)} sizes for {len(axes)} axes", "give one for each")
    if policy == "stretch":  # else every size depends on all
        known = elements(ctx, inputs[index])
        for axis, size in zip(axes, known, strict=True):
            outs[axis] = size if isinstance(size, int | Dim) else outs[axis]
    axes, wanted = _open(ctx, inputs, index, axes, known)
    plan = Plan(tuple(outs), (None,) * len(outs))
    if not axes:
        return plan
    if policy == "stretch":
        sizes = ctx.emit(op.astype(wanted, "float64"))  # exact as far as sizes go
        return _with_read(ctx, inputs, axes, sizes, None, plan)
    have = _dims(ctx, inputs, axes)
    scales = ctx.emit(op.divide(op.astype(wanted, "float32"), have))
    choose = op.min if policy == "not_larger" else op.max
    one = choose(scales, axis=[0], keepdims=True)
    scales = ctx.emit(op.broadcast_to(one, [len(axes)]))
    sizes = ctx.emit(op.floor(op.add(op.multiply(scales, have), ctx.const(0.5, "float32"))))
    return _with_read(ctx, inputs, axes, sizes, scales, plan)


def _open(
    ctx: Context,
    inputs: Inputs,
    index: int,
    axes: Sequence[int],
    known: Sequence[Any],
) -> tuple[list[int], Expr]:
    """The axes whose elements of an operand are unknown, and these elements."""
    rest = [k for k, value in enumerate(known) if value is None]
    return [axes[k] for k in rest], picked(ctx, inputs[index], rest) if rest else inputs[index]


def _dims(ctx: Context, inputs: Inputs, axes: Sequence[int]) -> Expr:
    return ctx.sizes([inputs.shape(0)[axis] for axis in axes], "float32")


def _with_read(
    ctx: Context,
    inputs: Inputs,
    axes: Sequence[int],
    sizes: Expr,
    scales: Expr | None,
    plan: Plan,
) -> Plan:
    """A plan with sizes, floats still, of these axes; without scales those are the quotients."""
    dtype = str(sizes.ty.dtype)
    zero, none = ctx.const(0.0, dtype), ctx.const(0.0, "float32")
    valid = op.logical_or(op.greater(_dims(ctx, inputs, axes), none), op.equal(sizes, zero))
    valid = op.logical_and(valid, op.less(op.abs(sizes), ctx.const(_FAR, dtype)))
    if scales is not None:
        valid = op.logical_and(valid, op.greater(scales, none))
    sizes = ctx.emit(op.astype(op.where(valid, sizes, ctx.const(-1.0, dtype)), "int64"))
    found = sizes_from(ctx, sizes, [f"dim{axis}" for axis in axes], [None] * len(axes))
    outs, kept = list(plan.sizes), list(plan.scales)
    for k, (axis, size) in enumerate(zip(axes, found, strict=True)):
        outs[axis], kept[axis] = size, None
        if scales is not None:
            kept[axis] = ctx.emit(op.strided_slice(scales, [0], [k], [k + 1]))
    return Plan(tuple(outs), tuple(kept), read=plan.read | frozenset(axes))
