"""AveragePool, every mode."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from tvm import relax, te

from ..dims import Size, fixed, is_static
from . import Attrs, Context, Inputs, OnnxOp, Result
from ._window import Window, padded_window, pooled_sizes, window

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
        if not is_static(win.padding) or (corrected and not is_static(dims)):
            counted = None if include and not (grown and not whole) else include
            return _over_open(ctx, inputs, asked, win, counted)
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


def _over_open(
    ctx: Context, inputs: Inputs, asked: Window, win: Window, counted: bool | None
) -> relax.Expr:
    """The averages where paddings, or how much of a window they are, depend on the shapes.

    Zeros are averaged like elements, and the result is corrected axis by axis.

    Parameters
    ----------
    asked, win : Window
        With the paddings that the model asks for; with those of ``ceil_mode``, too.
    counted : bool, optional
        Whether the padding asked for counts; by default everything does, and nothing is corrected.
    """
    dims, dtype = inputs.shape(0)[2:], inputs.dtype(0)
    data, plain = padded_window(ctx, inputs[0], win, 0)
    result = ctx.emit(
        _POOL[len(dims)](
            data,
            plain.kernel,
            plain.strides,
            plain.padding,
            plain.dilations,
            count_include_pad=True,
        )
    )
    if counted is None:
        return result
    for axis, size in enumerate(dims):
        if (win.before[axis], win.after[axis]) == (0, 0):
            continue
        first, end = win.before[axis], win.before[axis] + size
        if counted:
            first, end = 0, end + asked.after[axis]
        places = ctx.shape(result)[2 + axis]
        starts = relax.op.arange(0, ctx.prim(places), 1, "int64")
        starts = ctx.emit(relax.op.multiply(starts, ctx.const(win.strides[axis], "int64")))
        taps = np.arange(win.kernel[axis]) * win.dilations[axis]
        at = ctx.emit(relax.op.add(ctx.reshape(starts, [places, 1]), ctx.const([taps], "int64")))
        inside = relax.op.logical_and(
            relax.op.greater_equal(at, ctx.sizes([first], "int64")),
            relax.op.less(at, ctx.sizes([end], "int64")),
        )
        count = ctx.emit(relax.op.sum(relax.op.astype(inside, dtype), axis=[1]))
        factor = ctx.emit(relax.op.divide(ctx.const(win.kernel[axis], dtype), count))
        shape: list[Size] = [1] * (2 + len(dims))
        shape[2 + axis] = places
        # In TE, as TVM does not see that dims are equal that are long expressions.
        factor = ctx.reshape(factor, shape)
        result = ctx.builder.emit_te(_scaled, result, factor, 2 + axis)
    return result


def _scaled(data: te.Tensor, factor: te.Tensor, axis: int) -> te.Tensor:
    """The data times factors that differ along one axis."""

    def element(*at: Any) -> Any:
        return data(*at) * factor(*(i if k == axis else 0 for k, i in enumerate(at)))

    return te.compute(data.shape, element, name="scaled")


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
