"""RandomUniformLike."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, Result
from ..common.random import Random, between, like


class RandomUniformLike(Random):
    """As many numbers as the operand has, whose elements nobody reads."""

    name = "RandomUniformLike"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return between(ctx, attrs, *like(ctx, inputs, attrs))
