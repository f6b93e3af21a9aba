"""Operands in another shape: constants at import, others by a reshape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import relax

from .context import Context
from .inputs import Inputs


def reshaped(ctx: Context, inputs: Inputs, index: int, shape: Sequence[int]) -> relax.Expr:
    """Operand ``index`` reshaped; a run checks dynamic dims against the given static shape."""
    known = inputs.known(index)
    if known is not None:
        return ctx.const(known.reshape(shape), inputs.dtype(index))
    if -1 not in shape:
        return ctx.reshape(inputs[index], shape)
    return ctx.emit(relax.op.reshape(inputs[index], list(shape)))


def with_bias(
    ctx: Context, inputs: Inputs, index: int, result: relax.Expr, times: int = 1
) -> relax.Expr:
    """A convolution's result and operand `index`, which has a number for each of its channels.

    The result has all channels so many `times`, one after the other. Broadcasting would take any
    row for one channel, and one number for any channels.
    """
    result = ctx.emit(result)
    _, channels, *pixels = ctx.shape(result)
    channels = channels // times
    have = inputs.shape(index)
    if len(have) != 1:
        raise ctx.ill_typed(f"its bias has {len(have)} dims, not one")
    row = [1, -1, *[1] * len(pixels)]
    if have[0] == channels and times == 1:
        return relax.op.add(result, reshaped(ctx, inputs, index, row))
    bias = ctx.agreeing(inputs[index], [channels], "its kernel")
    if times > 1:
        bias = ctx.emit(relax.op.tile(bias, [times]))
    return relax.op.add(result, ctx.emit(relax.op.reshape(bias, row)))


def scalar(ctx: Context, inputs: Inputs, index: int) -> relax.Expr:
    """An operand with one element as a rank-0 tensor."""
    if inputs.known(index) is not None:
        return reshaped(ctx, inputs, index, [])
    return ctx.reshape(inputs[index], [])


def is_zero(inputs: Inputs, index: int) -> bool:
    """Whether an operand is absent or known to be all zeros."""
    if not inputs.has(index):
        return True
    known = inputs.known(index)
    return known is not None and not np.any(known)
