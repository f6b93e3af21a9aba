"""RandomNormal."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, Result
from ..common.random import Random, dtype_of, normal


class RandomNormal(Random):
    """Box and Muller's method over a generator that counts."""

    name = "RandomNormal"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return normal(ctx, attrs, attrs["shape"], dtype_of(ctx, attrs, "float32"))
