"""ai.onnx.ml::Imputer."""

from __future__ import annotations

from math import isnan

import numpy as np
from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.operands import for_columns


class Imputer(OnnxOp):
    """What equals one value (NaN equals NaN) becomes another, which may be one for each column."""

    name = "Imputer"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        dtype = inputs.dtype(0)
        kind, one = ("floats", "float") if "float" in dtype else ("int64s", "int64")
        values = attrs.get(f"imputed_value_{kind}")
        if not values:
            raise ctx.unsupported(f"has no imputed_value_{kind}", "give it what to put there")
        x = for_columns(ctx, inputs[0], values, f"its imputed_value_{kind}")
        replaced = attrs.get(f"replaced_value_{one}", 0)
        if isnan(replaced):
            found = relax.op.isnan(x)
        else:
            found = relax.op.equal(x, ctx.const(replaced, dtype))
        return relax.op.where(ctx.emit(found), ctx.const(np.array(values), dtype), x)
