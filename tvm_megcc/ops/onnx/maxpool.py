"""MaxPool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import relax

from ...dims import Size, compare, floordiv, maximum, minimum, product
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.max_indices import max_indices
from ..common.window import Window, padded_window, pooled_sizes, window

_POOL = {1: relax.op.nn.max_pool1d, 2: relax.op.nn.max_pool2d, 3: relax.op.nn.max_pool3d}


class MaxPool(OnnxOp):
    """``nn.max_pool{1,2,3}d`` with ``ceil_mode`` turned into padding, which a maximum ignores."""

    slow = True

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dims = inputs.shape(0)[2:]
        if len(dims) not in _POOL:
            raise ctx.unsupported(f"{len(dims)} spatial dims", "pool over 1, 2 or 3 dims")
        win = _window(ctx, attrs, dims)
        data = _with_elements(ctx, inputs[0], win, _window(ctx, attrs, (0,) * len(dims)))
        data, plain = padded_window(ctx, data, win, _least(inputs.dtype(0)))
        pool = _POOL[len(dims)]
        result = pool(data, plain.kernel, plain.strides, plain.padding, plain.dilations)
        if not ctx.wants(1):
            return result
        result = ctx.emit(result)
        by_column = bool(attrs.get("storage_order", 0))
        return result, max_indices(ctx, inputs[0], result, win, by_column)


def _window(ctx: Context, attrs: Attrs, dims: tuple[Size, ...]) -> Window:
    win = window(ctx, attrs, attrs["kernel_shape"], dims)
    return pooled_sizes(win, dims, attrs)[0]


def _with_elements(ctx: Context, data: relax.Expr, win: Window, bare: Window) -> relax.Expr:
    """The data, for shapes with which no window has nothing but padding: that has no largest.

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
    """Whether a window along an axis, whose size is known, has none of its elements."""
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
    """What a maximum ignores."""
    return float("-inf") if "float" in dtype else float(np.iinfo(dtype).min)
