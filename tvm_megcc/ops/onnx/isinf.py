"""IsInf, of either sign or of one."""

from __future__ import annotations

import numpy as np
from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result


class IsInf(OnnxOp):
    """``isinf``, or a comparison with the infinity that is asked for."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        positive = bool(attrs.get("detect_positive", 1))
        negative = bool(attrs.get("detect_negative", 1))
        if positive and negative:
            return relax.op.isinf(inputs[0])
        if not positive and not negative:
            return relax.op.full(ctx.prims(inputs.shape(0)), ctx.const(False, "bool"), "bool")
        return relax.op.equal(
            inputs[0], ctx.const(np.inf if positive else -np.inf, inputs.dtype(0))
        )
