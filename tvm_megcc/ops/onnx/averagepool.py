"""AveragePool, every mode."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax

from ...dims import Size, fixed, is_static
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.slices import padded
from ..common.window import Window, padded_window, pooled_sizes, window

_POOL = {1: relax.op.nn.avg_pool1d, 2: relax.op.nn.avg_pool2d, 3: relax.op.nn.avg_pool3d}


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
        dims = inputs.shape(0)[2:]
        if len(dims) not in _POOL:
            raise ctx.unsupported(f"{len(dims)} spatial dims", "pool over 1, 2 or 3 dims")
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
        result = _POOL[len(dims)](
            data,
            win.kernel,
            win.strides,
            win.padding,
            win.dilations,
            count_include_pad=include,
        )
        if corrected:
            factor = _counted(asked, win, dims)
            result = relax.op.multiply(result, ctx.const(factor, inputs.dtype(0)))
        return result


def _weighed(ctx: Context, inputs: Inputs, asked: Window, win: Window, counted: bool) -> relax.Expr:
    """The averages where how much of a window counts depends on the shapes.

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

    def averages(x: relax.Expr) -> relax.Var:
        steps = [0] * 2 * rank, win.dilations
        return ctx.emit(_POOL[rank](x, win.kernel, win.strides, *steps, count_include_pad=True))

    return relax.op.divide(averages(data), averages(image))


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
