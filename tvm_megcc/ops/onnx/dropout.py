"""Dropout, which is nothing in inference."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, Result
from ..common.random import Random, uniform, wide_of


class Dropout(Random):
    """The operand; the mask, where it is used, is all true.

    In training, also if only the run shows the mode, a number is drawn for each element:
    where it is less than the ratio, the element becomes 0, and the others grow so that the mean
    stays.
    """

    single = {1: "ratio", 2: "training_mode"}

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x = inputs[0]
        training = inputs.known(2) if inputs.has(2) else False
        ratio = inputs.known(1) if inputs.has(1) else 0.5
        if (training is None or training) and (ratio is None or ratio != 0):
            return _dropped(ctx, inputs, attrs)
        if not ctx.wants(1):
            return x
        dtype = "bool" if ctx.opset >= 10 else inputs.dtype(0)
        return x, relax.op.full(ctx.prims(inputs.shape(0)), ctx.const(1, dtype), dtype)


def _dropped(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    """The operand in training, and the mask; ratio and mode may be computed at run time."""
    op, shape, dtype = relax.op, inputs.shape(0), inputs.dtype(0)
    wide = wide_of(dtype)
    if inputs.has(1):
        ratio = ctx.emit(op.astype(ctx.reshape(inputs[1], []), wide))
    else:
        ratio = ctx.const(0.5, wide)
    kept = ctx.emit(op.greater_equal(uniform(ctx, attrs, shape, wide), ratio))
    one = ctx.const(1, wide)
    grown = ctx.emit(op.divide(one, ctx.emit(op.subtract(one, ratio))))
    if inputs.known(2) is None:
        training = ctx.reshape(inputs[2], [])
        kept = ctx.emit(op.logical_or(kept, ctx.emit(op.logical_not(training))))
        grown = ctx.emit(op.where(training, grown, one))
    grown = ctx.emit(op.astype(grown, dtype))
    product = ctx.emit(op.multiply(inputs[0], grown))
    return op.where(kept, product, ctx.const(0, dtype)), kept
