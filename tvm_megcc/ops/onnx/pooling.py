"""Pooling over 1, 2 or 3 spatial dims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, Literal

import numpy as np
from tvm import relax

from ...dims import Size, compare, fixed, floordiv, is_static, maximum, minimum, product
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.max_indices import max_indices
from ..common.slices import padded
from ..common.stock import StockOp, convert
from ..common.window import Window, padded_window, pooled_sizes, window


def pooled_dims(ctx: Context, inputs: Inputs) -> tuple[Size, ...]:
    """The spatial dims of operand 0, as many as Relax pools over."""
    dims = inputs.shape(0)[2:]
    if len(dims) not in (1, 2, 3):
        raise ctx.unsupported(f"{len(dims)} spatial dims", "pool over 1, 2 or 3 dims")
    return dims


def pool(kind: Literal["avg", "max"], data: relax.Expr, win: Window, **options: Any) -> relax.Expr:
    """``nn.avg_pool{1,2,3}d`` or ``nn.max_pool{1,2,3}d``."""
    function = getattr(relax.op.nn, f"{kind}_pool{len(win.kernel)}d")
    return function(data, win.kernel, win.strides, win.padding, win.dilations, **options)


class AveragePool(OnnxOp):
    """``nn.avg_pool{1,2,3}d``, corrected where ``ceil_mode`` lets windows leave the padding.

    ``count_include_pad`` counts the padding that the model asks for, not what ``ceil_mode`` adds.
    """

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return self.pooled(ctx, inputs, attrs)

    @staticmethod
    def pooled(ctx: Context, inputs: Inputs, attrs: Attrs, whole: bool = False) -> relax.Expr:
        """The averages; with ``whole``, ``count_include_pad`` counts all elements of a window."""
        dims = pooled_dims(ctx, inputs)
        asked = window(ctx, attrs, attrs["kernel_shape"], dims)
        win, grown = pooled_sizes(asked, dims, attrs)
        include = bool(attrs.get("count_include_pad", 0))
        corrected = grown and include and not whole
        is_open = not is_static(win.padding) or (corrected and not is_static(dims))
        if is_open and (corrected or not include):
            if whole:
                ctx.static(dims)  # what is quantised has ties, which two roundings may move
            return _weighed(ctx, inputs, asked, win, include)
        data, win = padded_window(ctx, inputs[0], win, 0)
        result = pool("avg", data, win, count_include_pad=include)
        if corrected:
            factor = _counted(asked, win, dims)
            result = relax.op.multiply(result, ctx.const(factor, inputs.dtype(0)))
        return result


def _weighed(ctx: Context, inputs: Inputs, asked: Window, win: Window, counted: bool) -> relax.Expr:
    """The averages where the shapes decide how many elements of a window count.

    Zeros are averaged like elements. An image of ones, padded and averaged in the same way, says
    which part of each window counts: TVM sees that both have as many windows, however long the
    expressions for these are.

    Parameters
    ----------
    asked, win : Window
        With the paddings that the model asks for; with those of ``ceil_mode``, too.
    counted : bool
        Whether the padding asked for counts.
    """
    dtype, rank = inputs.dtype(0), len(win.kernel)
    one, zero = (ctx.const(v, dtype) for v in (1, 0))
    data = inputs[0]
    image = ctx.emit(relax.op.broadcast_to(one, [1, 1, *list(data.ty.shape.values)[2:]]))
    more = [after - had for after, had in zip(win.after, asked.after, strict=True)]
    for before, after, fill in (
        (asked.before, asked.after, one if counted else zero),
        ([0] * rank, more, zero),
    ):
        widths = [0, 0, *before], [0, 0, *after]
        data, image = padded(ctx, data, *widths, zero), padded(ctx, image, *widths, fill)

    sizes = ctx.shape(data)
    data, image = ctx.match_cast(data, sizes), ctx.match_cast(image, [1, 1, *sizes[2:]])

    bare = replace(win, before=[0] * rank, after=[0] * rank)
    averages = [ctx.emit(pool("avg", x, bare, count_include_pad=True)) for x in (data, image)]
    return relax.op.divide(*averages)


def _counted(asked: Window, win: Window, dims: tuple[Size, ...]) -> np.ndarray:
    """Window size over the number of its elements that count, per output position."""
    counts = np.ones([1] * len(dims))
    for axis, size in enumerate(dims):
        end = fixed(size + asked.before[axis] + asked.after[axis])
        room = fixed(size + win.before[axis] + win.after[axis]) - win.reach(axis)
        starts = np.arange(0, room + 1, win.strides[axis])
        taps = starts[:, None] + np.arange(win.kernel[axis]) * win.dilations[axis]
        shape = [1] * len(dims)
        shape[axis] = len(starts)
        counts = counts * (taps < end).sum(1).reshape(shape)
    return (prod(win.kernel) / counts)[None, None]


class LpPool(OnnxOp):
    """The p-th root of the sum of p-th powers: an average that counts the padding, which is 0."""

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dims, dtype = pooled_dims(ctx, inputs), inputs.dtype(0)
        power = order(ctx, attrs)
        asked = window(ctx, attrs, attrs["kernel_shape"], dims)
        grown, _ = pooled_sizes(asked, dims, attrs)
        powers = ctx.emit(raised(ctx, relax.op.abs(inputs[0]), power, dtype))
        powers, win = padded_window(ctx, powers, grown, 0)
        mean = ctx.emit(pool("avg", powers, win, count_include_pad=True))
        total = relax.op.multiply(mean, ctx.const(prod(win.kernel), dtype))
        return raised(ctx, total, 1 / power, dtype)


def order(ctx: Context, attrs: Attrs) -> int:
    """``p``, of which ONNX wants 1 or more."""
    found = int(attrs.get("p", 2))
    if found < 1:
        raise ctx.unsupported(f"p is {found}", "give 1 or more")
    return found


def raised(ctx: Context, x: relax.Expr, power: float, dtype: str) -> relax.Expr:
    """``x ** power`` of numbers that are not negative."""
    if power not in (1, 2, 0.5):
        return relax.op.power(x, ctx.const(power, dtype))
    x = ctx.emit(x)
    if power == 1:
        return x
    return relax.op.multiply(x, x) if power == 2 else relax.op.sqrt(x)


class MaxPool(OnnxOp):
    """``nn.max_pool{1,2,3}d`` with ``ceil_mode`` turned into padding, which a maximum ignores."""

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dims = pooled_dims(ctx, inputs)
        win = _window(ctx, attrs, dims)
        data = _with_elements(ctx, inputs[0], win, _window(ctx, attrs, (0,) * len(dims)))
        data, plain = padded_window(ctx, data, win, _least(inputs.dtype(0)))
        result = pool("max", data, plain)
        if not ctx.wants(1):
            return result
        result = ctx.emit(result)
        by_column = bool(attrs.get("storage_order", 0))
        return result, max_indices(ctx, inputs[0], result, win, by_column)


def _window(ctx: Context, attrs: Attrs, dims: tuple[Size, ...]) -> Window:
    win = window(ctx, attrs, attrs["kernel_shape"], dims)
    return pooled_sizes(win, dims, attrs)[0]


def _with_elements(ctx: Context, data: relax.Expr, win: Window, bare: Window) -> relax.Expr:
    """Check that no window consists of padding alone: it has no largest element.

    ``bare`` is the window over dims of 0, where most have no results either.
    """
    shape = ctx.shape(data)
    for axis in range(len(win.kernel)):
        if compare("lt", 0, _count(bare, axis, 0)) == 0:
            continue
        data = ctx.at_least(data, axis + 2, minimum(1, _beside(win, axis, shape)))
    for axis, size in enumerate(shape[2:]):
        if _beside(win, axis, shape) != 0 and _has_bare_window(win, axis, size):
            raise ctx.ill_typed(f"a window along axis {axis + 2} has nothing but padding")
    return data


def _beside(win: Window, axis: int, shape: Sequence[Size]) -> Size:
    """How many results there are for each window along an axis."""
    others = [_count(win, k, d) for k, d in enumerate(shape[2:]) if k != axis]
    return product([*shape[:2], *others])


def _has_bare_window(win: Window, axis: int, size: Size) -> bool:
    """Whether some position of the window along an axis of known size covers padding only."""
    count, before = _count(win, axis, size), win.before[axis]
    if not (isinstance(size, int) and isinstance(count, int) and isinstance(before, int)):
        return False
    taps = np.arange(win.kernel[axis]) * win.dilations[axis] - before
    places = np.arange(count)[:, None] * win.strides[axis] + taps
    return not bool(((places >= 0) & (places < size)).any(1).all())


def _count(win: Window, axis: int, size: Size) -> Size:
    """How many windows there are along an axis."""
    room = size + win.before[axis] + win.after[axis] - win.reach(axis)
    return maximum(floordiv(room, win.strides[axis]) + 1, 0)


def _least(dtype: str) -> float:
    """The least number of a type, which never is the maximum."""
    return float("-inf") if "float" in dtype else float(np.iinfo(dtype).min)


class GlobalMaxPool(StockOp):
    """TVM's conversion, after a check that planes have elements."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape, data = inputs.shape(0), inputs[0]
        for axis in range(2, len(shape)):  # of no planes there is nothing to say
            data = ctx.at_least(data, axis, minimum(1, product(shape[:2])))
        return convert(ctx, [data], attrs)


OPERATORS = [AveragePool, LpPool, MaxPool, GlobalMaxPool]
