"""Bernoulli."""

from __future__ import annotations

from tvm import relax

from .. import Attrs, Context, Inputs, Result
from ..common.random import Random, tvm_dtype, uniform


class Bernoulli(Random):
    """One where a number drawn from [0, 1) is less than the operand's element, else zero."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        wide = "float64" if inputs.dtype(0) == "float64" else "float32"
        chance = inputs[0]
        if inputs.dtype(0) != wide:
            chance = ctx.emit(relax.op.astype(chance, wide))
        dtype = tvm_dtype(ctx, attrs["dtype"]) if "dtype" in attrs else inputs.dtype(0)
        found = ctx.emit(relax.op.less(uniform(ctx, attrs, inputs.shape(0), wide), chance))
        return found if dtype == "bool" else relax.op.astype(found, dtype)
