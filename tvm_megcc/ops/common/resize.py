"""Resampling of a tensor, axis by axis; shared by Resize and Upsample."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from tvm import relax

from ...dims import Size, fixed, is_static, minimum
from ...relax_tools import open_resize
from ...shapes.sizes import divides
from . import fixed_point
from . import resample_symbolic as at_run_time
from .context import Context, expr_dtype
from .inputs import Inputs
from .moved import on_last_axis
from .resample import Axis, Options, Table, outside, taps
from .resample_symbolic import Number, OpenAxis
from .weighted import weighted

#: From so many weights per element on, a matrix product is smaller than the sum of shifted copies.
_MANY_TAPS = 5
#: Types of which a kernel computes ``resize2d``.
_WITH_KERNEL = ("float32", "float16")

open_resize.register()


@dataclass(frozen=True, slots=True)
class Plan:
    """The output's dims and the scale of each axis, None where it is the quotient of the dims.

    ``roi`` is the part of each axis that ``tf_crop_and_resize`` takes. Scales and parts may be
    computed at run time. ``read`` are the axes whose sizes are looked at when they are read.
    """

    sizes: tuple[Size, ...]
    scales: tuple[Number | None, ...]
    roi: tuple[tuple[Number, Number], ...] = ()
    read: frozenset[int] = frozenset()


def resize(
    ctx: Context, inputs: Inputs, plan: Plan, options: Options, fill: float = 0.0
) -> relax.Expr:
    """The resampled first operand."""
    shape = inputs.shape(0)
    cropping = options.coordinates == "tf_crop_and_resize"
    inputs = inputs.replaced(0, _with_elements(ctx, inputs[0], plan))
    if plan.sizes == shape and not cropping and all(_is_one(scale) for scale in plan.scales):
        return inputs[0]
    options = replace(options, coordinates=_coordinates(shape, plan, options))
    if _fits_resize2d(shape, plan, options, inputs.dtype(0)):
        return relax.op.image.resize2d(
            inputs[0],
            ctx.prims(plan.sizes[2:]),
            layout="NCHW",
            method="nearest_neighbor" if options.mode == "nearest" else "linear",
            coordinate_transformation_mode=options.coordinates,
            rounding_method="floor" if options.mode == "nearest" else "",
        )
    dtype, data = inputs.dtype(0), inputs[0]
    fixed = options.antialias and dtype in ("int8", "uint8") and options.mode != "nearest"
    work = dtype if "float" in dtype or options.mode == "nearest" else "float32"
    work = "int32" if fixed else work
    if work != dtype:
        data = ctx.emit(relax.op.astype(data, work))
    hidden = np.zeros([1] * len(shape), bool)
    masks: list[relax.Expr] = []
    rows = list(enumerate(zip(shape, plan.sizes, plan.scales, strict=True)))
    whole = options.antialias and work != dtype
    for axis, (size, out, scale) in reversed(rows) if whole else rows:
        if size == out and _is_one(scale) and not plan.roi:
            continue
        roi = plan.roi[axis] if plan.roi else (0.0, 1.0)
        if not (isinstance(size, int) and isinstance(out, int)) or any(
            isinstance(v, relax.Expr) for v in (scale, *roi)
        ):
            open_part = OpenAxis(size, out, scale, roi)
            if fixed:
                weights = at_run_time.fixed_point_table(ctx, open_part, options)
                data = fixed_point.resampled(ctx, data, axis, weights, dtype)
            else:
                data = at_run_time.resampled(ctx, data, axis, open_part, options, work != dtype)
                data = _rounded(ctx, data, dtype) if whole else data
            if cropping:
                masks.append(at_run_time.outside(ctx, open_part, len(shape) - 1 - axis))
            continue
        scale = float(np.float32(out) / np.float32(size)) if scale is None else scale
        part = Axis(size, out, scale, roi)
        if part.size == part.out and scale == 1.0 and part.roi == (0.0, 1.0):
            continue
        if fixed:
            weights = ctx.const(fixed_point.table(part, options), "int32")
            data = fixed_point.resampled(ctx, data, axis, weights, dtype)
        else:
            data = _apply(ctx, data, axis, taps(part, options), work, work != dtype)
            data = _rounded(ctx, data, dtype) if whole else data
        if cropping:
            ones = [1] * len(shape)
            ones[axis] = part.out
            hidden = hidden | outside(part).reshape(ones)
    if hidden.any():
        masks.append(ctx.const(hidden, "bool"))
    for mask in masks:
        data = ctx.emit(relax.op.where(mask, ctx.const(fill, work), data))
    return relax.op.astype(data, dtype) if work != dtype else data


def _with_elements(ctx: Context, data: relax.Expr, plan: Plan) -> relax.Expr:
    """The data, for shapes with which no elements are made from none."""
    rows = zip(ctx.shape(data), plan.sizes, plan.scales, strict=True)
    for axis, (size, out, scale) in enumerate(rows):
        # By a scale there are none made from none, nor is a multiple of none more.
        if not isinstance(out, int) and (
            axis in plan.read or scale is not None or (size != 0 and divides(out, size) is not None)
        ):
            continue
        data = ctx.at_least(data, axis, minimum(1, out))
    return data


def _rounded(ctx: Context, data: relax.Expr, dtype: str) -> relax.Expr:
    """The nearest integers of the type, halves away from 0, after every axis.

    ONNX Runtime goes from the last axis to the first; without a filter it truncates.
    """
    half, zero = (ctx.const(v, expr_dtype(data)) for v in (0.5, 0))
    up = relax.op.floor(relax.op.add(data, half))
    down = relax.op.ceil(relax.op.subtract(data, half))
    nearest = ctx.emit(relax.op.where(relax.op.less(data, zero), down, up))
    limits = np.iinfo(dtype)
    if limits.bits > 16:  # of which a float does not hold the limits
        return nearest
    return ctx.emit(relax.op.clip(nearest, int(limits.min), int(limits.max)))


def _coordinates(shape: tuple[Size, ...], plan: Plan, options: Options) -> str:
    """``pytorch_half_pixel`` is another rule than ``half_pixel`` only where one element is left."""
    several = all(
        out == size or (isinstance(out, int) and out > 1)
        for size, out in zip(shape, plan.sizes, strict=True)
    )
    is_alike = options.coordinates == "pytorch_half_pixel" and several
    return "half_pixel" if is_alike else options.coordinates


def _is_one(scale: Number | None) -> bool:
    return scale is None or (isinstance(scale, float) and scale == 1.0)


def _fits_resize2d(shape: tuple[Size, ...], plan: Plan, options: Options, dtype: str) -> bool:
    if len(shape) != 4 or plan.sizes[:2] != shape[:2] or options.antialias:
        return False
    for size, dim, scale in list(zip(plan.sizes, shape, plan.scales, strict=True))[2:]:
        if scale is None:
            continue
        if isinstance(scale, relax.Expr):
            return False
        if not isinstance(size, int) or not isinstance(dim, int):
            if size != dim * int(scale) or scale != int(scale):
                return False
        elif np.float32(scale) != np.float32(size) / np.float32(dim):
            return False
        if options.mode == "nearest" and scale != int(scale):
            return False
    if options.mode == "nearest":
        return options.coordinates == "asymmetric" and options.rounding in ("floor", "simple")
    exact = options.coordinates in ("half_pixel", "align_corners", "asymmetric")
    if options.coordinates == "align_corners" and 1 in plan.sizes[2:]:
        exact = False  # TVM divides by the size less 1 while it compiles
    if not is_static([*shape[2:], *plan.sizes[2:]]):
        exact = options.coordinates == "half_pixel" or (exact and dtype in _WITH_KERNEL)
    return options.mode == "linear" and exact and not options.exclude_outside


def _apply(
    ctx: Context, data: relax.Expr, axis: int, table: Table, dtype: str, finite: bool
) -> relax.Expr:
    """The data with an axis resampled; ``finite`` data have no infinities and no NaN."""
    (index, weights), rank = table, len(ctx.shape(data))
    count = index.shape[1]
    if count == 1:
        return ctx.emit(relax.op.take(data, ctx.const(index[:, 0], "int64"), axis, "clip"))
    if count >= _MANY_TAPS and finite:
        return _product(ctx, data, axis, table, fixed(ctx.shape(data)[axis]), dtype)
    if count >= _MANY_TAPS:
        tables = ctx.const(weights, "float64"), ctx.const(index, "int64")
        return weighted(ctx, data, axis, *tables)
    spread = [-1] + [1] * (rank - 1 - axis)
    total = None
    for k in range(count):
        part = relax.op.take(data, ctx.const(index[:, k], "int64"), axis, "clip")
        weight = weights[:, k].reshape(spread)
        part = relax.op.multiply(part, ctx.const(weight, dtype))
        if not finite and not weight.all():
            # An element without weight is left out: 0 times an infinity or NaN is NaN.
            nothing = ctx.const(weight == 0, "bool")
            part = relax.op.where(nothing, ctx.const(0, dtype), ctx.emit(part))
        total = part if total is None else relax.op.add(total, part)
    return ctx.emit(total)


def _product(
    ctx: Context, data: relax.Expr, axis: int, table: Table, size: int, dtype: str
) -> relax.Expr:
    index, weights = table
    matrix = np.zeros((size, index.shape[0]))
    np.add.at(matrix, (index, np.arange(index.shape[0])[:, None]), weights)
    factor = ctx.const(matrix, dtype)
    return on_last_axis(ctx, data, axis, lambda x: ctx.emit(relax.op.matmul(x, factor)))
