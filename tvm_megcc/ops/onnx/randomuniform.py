"""RandomUniform."""

from __future__ import annotations

from .. import Attrs, Context, Inputs, Result
from ..common.random import Random, between, dtype_of


class RandomUniform(Random):
    """From ``low`` to below ``high``."""

    name = "RandomUniform"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return between(ctx, attrs, attrs["shape"], dtype_of(ctx, attrs, "float32"))
