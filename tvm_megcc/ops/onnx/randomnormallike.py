"""RandomNormalLike."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, Result
from ..common.random import Random, like, normal


class RandomNormalLike(Random):
    """As many numbers as the operand has, whose elements nobody reads."""

    name = "RandomNormalLike"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return normal(ctx, attrs, *like(ctx, inputs, attrs))
