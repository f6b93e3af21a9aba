"""ai.onnx.ml::OneHotEncoder of numbers."""

from __future__ import annotations

import numpy as np
from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result


class OneHotEncoder(OnnxOp):
    """Each element, cut to an integer, compared with the categories.

    With ``zeros`` at 0, one that is no category ends the run.
    """

    name = "OneHotEncoder"
    domain = "ai.onnx.ml"

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if not attrs.get("cats_int64s"):
            raise ctx.unsupported("its categories are strings", "give it integer categories")
        data = ctx.emit(relax.op.astype(inputs[0], "int64"))
        data = ctx.reshape(data, [*inputs.shape(0), 1])
        found = ctx.emit(relax.op.equal(data, ctx.const(np.array(attrs["cats_int64s"]), "int64")))
        if not attrs.get("zeros", 1):
            data = ctx.emit(relax.op.astype(found, "int64"))
            any_of = ctx.emit(relax.op.max(data, [-1]))
            holds = relax.op.greater(relax.op.min(any_of), ctx.const(0, "int64"))
            found = ctx.checked(found, ctx.emit(holds))
        return relax.op.astype(found, "float32")
