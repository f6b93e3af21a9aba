"""ai.onnx.ml::Binarizer."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result


class Binarizer(OnnxOp):
    """1 above the threshold, else 0."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        x, dtype, limit = inputs[0], inputs.dtype(0), float(attrs.get("threshold", 0.0))
        if "int" in dtype:
            return relax.op.astype(ctx.emit(_is_above(ctx, x, dtype, limit)), dtype)
        above = relax.op.greater(x, ctx.const(limit, dtype))
        return relax.op.astype(ctx.emit(above), dtype)


def _is_above(ctx: Context, x: relax.Expr, dtype: str, limit: float) -> relax.Expr:
    """Integers are above a real number where they are above the next integer down."""
    info = np.iinfo(dtype)
    if limit < info.min:
        return relax.op.greater_equal(x, ctx.const(info.min, dtype))
    last = math.floor(limit) if limit < info.max else info.max  # of NaN, too: none is above
    return relax.op.greater(x, ctx.const(last, dtype))
