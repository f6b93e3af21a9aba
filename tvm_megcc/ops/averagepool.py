"""AveragePool, every mode."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax

from ..dims import Size, fixed, is_static
from . import Attrs, Context, Inputs, OnnxOp, Result
from ._window import Window, pooled_sizes, window

_POOL = {1: relax.op.nn.avg_pool1d, 2: relax.op.nn.avg_pool2d, 3: relax.op.nn.avg_pool3d}


class AveragePool(OnnxOp):
    """``nn.avg_pool{1,2,3}d``, corrected where ``ceil_mode`` lets windows leave the padding.

    ``count_include_pad`` counts the padding that the model asks for, not what ``ceil_mode`` adds.
    """

    name = "AveragePool"
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
        if not is_static(win.padding) or corrected:
            ctx.static(dims)
        result = _POOL[len(dims)](
            inputs[0],
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
