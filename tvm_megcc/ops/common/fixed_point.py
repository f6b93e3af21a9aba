"""Antialiased interpolation of 8-bit integers: weights in multiples of 2^-22, and sums in i32.

ONNX does not say how integers are rounded there. This is what ONNX Runtime and Pillow do: weights
are worked out in f32, one after the other, and rounded to 22 bits; each axis, the last one first,
is a sum of integers to which a half is added before its fraction is cut. A tie falls so as the
rounded weights say, so the arithmetic of the weights is theirs in every step. (Of a cubic one that
is computed at run time the last bit is up to the machine, which may fuse a product and a sum.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from tvm import relax, te, tirx
from tvm.script.ir_builder import tirx as T

from ...dims import Size
from ...relax_tools.tir_kernels import computed, local
from .context import Context
from .moved import on_last_axis
from .resample import Axis, Options, positions

#: Bits of a weight's fraction.
BITS = 22

f32 = np.float32
op = relax.op


def resampled(
    ctx: Context, data: relax.Expr, axis: int, weights: relax.Expr, dtype: str
) -> relax.Expr:
    """``int32`` data with an axis resampled to as many elements as `weights` has columns.

    Parameters
    ----------
    weights : relax.Expr
        ``int32[size, out]``.
    dtype : str
        The 8-bit type whose limits the results keep to.
    """
    limits = np.iinfo(dtype)

    def total(x: relax.Expr) -> relax.Expr:
        found = ctx.emit(op.matmul(x, weights, out_dtype="int32"))
        found = ctx.emit(op.add(found, ctx.const(1 << (BITS - 1), "int32")))
        found = ctx.emit(op.right_shift(found, ctx.const(BITS, "int32")))
        return ctx.emit(op.clip(found, int(limits.min), int(limits.max)))

    return on_last_axis(ctx, data, axis, total)


def table(axis: Axis, options: Options) -> npt.NDArray[np.int32]:
    """The weights of an axis, ``[size, out]``."""
    radius, kernel = _known_filter(options)
    size, step = axis.size, f32(1) / f32(axis.scale)
    support = f32(radius) * step if step >= 1 else f32(radius)
    shrink = f32(1) / step if step >= 1 else f32(1)
    found = np.zeros((size, axis.out), np.int32)
    for out, where in enumerate(positions(axis, options.coordinates)):
        center = f32(0.5) + where
        first = int(np.floor(center - support + f32(0.5)))
        index = np.arange(first, int(np.floor(center + support + f32(0.5))))
        weights = kernel((index.astype(f32) - center + f32(0.5)) * shrink)
        inside = (index >= 0) & (index < size)
        if options.exclude_outside:
            index, weights, inside = index[inside], weights[inside], inside[inside]
        if not inside.any():
            continue
        total = _summed(f32(0), weights)
        row = np.zeros(size, f32)
        row[index[inside]] = weights[inside]
        # Elements at the border get the weights of those outside.
        row[0] = _summed(row[0], weights[index < 0])
        row[-1] = _summed(row[-1], weights[index >= size])
        share = row * (f32(1) / total if total else f32(1)) * f32(1 << BITS)
        found[:, out] = np.trunc(share + np.copysign(f32(0.5), share).astype(np.float64))
    return found


def _summed(start: f32, values: npt.NDArray[f32]) -> f32:
    """A sum of f32, one after the other."""
    for value in values:
        start = start + value
    return start


def _known_filter(options: Options) -> tuple[int, Callable[[Any], Any]]:
    if options.mode == "linear":
        return 1, lambda x: np.maximum(f32(1) - np.abs(x), f32(0))
    a, two, three, four, five, eight = (f32(v) for v in (options.cubic, 2, 3, 4, 5, 8))

    def cubic(x: Any) -> Any:
        x = np.abs(x)
        near = ((a + two) * x - (a + three)) * x * x + f32(1)
        far = (((x - five) * x + eight) * x - four) * a
        return np.where(x < 1, near, np.where(x < 2, far, f32(0)))

    return 2, cubic


# ---- the same at run time ----------------------------------------------------------------------


def table_at_run_time(
    ctx: Context, where: relax.Expr, scale: relax.Expr, size: Size, options: Options
) -> relax.Expr:
    """The weights of an axis of `size` elements, ``int32[size, out]``.

    Parameters
    ----------
    where : relax.Expr
        ``float32[out]``, where in the input each output element lies.
    scale : relax.Expr
        ``float32[1]``.
    """
    room = ctx.prim(size)

    def weights(where: te.Tensor, scale: te.Tensor, sizes: te.Tensor) -> te.Tensor:
        made = [((where.shape[0], room), "float32")]
        return computed("weights", [where, scale, sizes], made, partial(_kernel, options))

    sizes = ctx.sizes([size], "int64")
    found = ctx.emit(ctx.builder.call_te(weights, where, ctx.reshape(scale, [1]), sizes))
    return ctx.emit(op.permute_dims(ctx.emit(op.astype(found, "int32")), [1, 0]))


def _kernel(options: Options, where: Any, scale: Any, sizes: Any, weight: Any) -> None:
    count, room = weight.shape
    radius, value = _filter(options)
    zero, half, one = (tirx.const(v, "float32") for v in (0, 0.5, 1))
    step, support, shrink, center, total, x = (local("float32") for _ in range(6))
    first, last, index = (local("int64") for _ in range(3))
    step[0] = one / scale[0]
    support[0] = tirx.const(radius, "float32") * tirx.max(step[0], one)
    shrink[0] = tirx.if_then_else(step[0] >= one, one / step[0], one)
    with T.serial(0, count) as o:
        center[0] = half + where[o]
        first[0] = tirx.Cast("int64", tirx.floor(center[0] - support[0] + half))
        last[0] = tirx.Cast("int64", tirx.floor(center[0] + support[0] + half))
        total[0] = zero
        with T.serial(0, room) as i:
            weight[o, i] = zero
        # Elements of the input, then those before its first and behind its last one.
        for part in range(3):
            with T.serial(0, last[0] - first[0]) as k:
                index[0] = first[0] + k
                x[0] = (tirx.Cast("float32", index[0]) - center[0] + half) * shrink[0]
                x[0] = tirx.max(x[0], -x[0])
                x[0] = value(x[0])
                below, above = index[0] < 0, index[0] >= sizes[0]
                inside = tirx.all(index[0] >= 0, index[0] < sizes[0])
                if part == 0:
                    counts = inside if options.exclude_outside else tirx.const(True)
                    total[0] = total[0] + tirx.if_then_else(counts, x[0], zero)
                    with T.If(inside), T.Then():
                        weight[o, index[0]] = x[0]
                elif not options.exclude_outside:
                    with T.If(tirx.all(sizes[0] > 0, (below, above)[part - 1])), T.Then():
                        border = tirx.const(0, "int64") if part == 1 else sizes[0] - 1
                        weight[o, border] = weight[o, border] + x[0]
        total[0] = tirx.if_then_else(total[0] == zero, one, one / total[0])
        with T.serial(0, room) as i:
            weight[o, i] = _rounded(weight[o, i] * total[0] * tirx.const(1 << BITS, "float32"))


def _rounded(share: Any) -> Any:
    """The nearest integer, halves away from 0: in f64, which adds a half exactly."""
    wide, half = tirx.Cast("float64", share), tirx.const(0.5, "float64")
    away = tirx.if_then_else(share < tirx.const(0, "float32"), wide - half, wide + half)
    return tirx.Cast("float32", tirx.trunc(away))


def _filter(options: Options) -> tuple[int, Callable[[Any], Any]]:
    def number(v: Any) -> Any:
        return tirx.const(float(f32(v)), "float32")

    if options.mode == "linear":
        return 1, lambda x: tirx.max(number(1) - x, number(0))
    a = f32(options.cubic)

    def cubic(x: Any) -> Any:
        near = (number(a + f32(2)) * x - number(a + f32(3))) * x * x + number(1)
        far = (((x - number(5)) * x + number(8)) * x - number(4)) * number(a)
        return tirx.if_then_else(x < 1, near, tirx.if_then_else(x < 2, far, number(0)))

    return 2, cubic
