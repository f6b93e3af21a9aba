"""STFT, of a step and a length that may both be known at run time only."""

from __future__ import annotations

import numpy as np
from tvm import relax

from ...dims import Size, fixed, floordiv, is_static, maximum
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.fourier import transform


class STFT(OnnxOp):
    """Frames of the signal, times the window, through `common.fourier.transform`."""

    slow = True
    single = {1: "frame_step", 3: "frame_length"}

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        if len(shape) not in (2, 3):
            raise ctx.ill_typed(f"its signal has {len(shape)} dims, not [batch, samples, parts]")
        batch, samples, parts = (*shape, 1)[:3]  # of real ones the last dim is often left out
        onesided = bool(attrs.get("onesided", 1))
        if onesided and parts != 1:
            raise ctx.unsupported("with onesided its signal is not real", "set onesided to 0")
        (step,) = inputs.need_ints(1, "frame_step", low=1)
        if inputs.has(3):
            (length,) = inputs.need_ints(3, "frame_length", low=1)
        else:
            length = inputs.shape(2)[0] if inputs.has(2) else samples
        signal = ctx.at_least(inputs[0], 1, maximum(length, 1))
        count = floordiv(samples - length, step) + 1
        places = _places(ctx, count, length, step)
        signal = ctx.reshape(signal, [batch, ctx.shape(signal)[1], parts])
        frames = ctx.emit(relax.op.take(signal, places, axis=1, mode="clip"))
        frames = ctx.cast(frames, [batch, count, length, parts])
        if inputs.has(2):
            window = ctx.cast(ctx.at_least(inputs[2], 0, 1), [length])
            window = ctx.reshape(window, [length, 1])
            frames = ctx.emit(relax.op.multiply(frames, window))
        rows = ctx.reshape(frames, [batch * count, length, parts])
        bins = floordiv(length, 2) + 1 if onesided else length
        found = transform(ctx, rows, bins, False, length)
        return ctx.reshape(found, [batch, count, bins, 2])


def _places(ctx: Context, count: Size, length: Size, step: Size) -> relax.Expr:
    """``[count, length]``: where each sample of each frame is."""
    if is_static((count, length, step)):
        starts, within = np.arange(fixed(count)) * fixed(step), np.arange(fixed(length))
        return ctx.const(starts[:, None] + within, "int64")
    starts, within = (
        ctx.emit(relax.op.arange(0, ctx.prim(size), 1, "int64")) for size in (count, length)
    )
    starts = ctx.emit(relax.op.multiply(starts, ctx.sizes([step], "int64")))
    return ctx.emit(relax.op.add(ctx.reshape(starts, [count, 1]), within))
