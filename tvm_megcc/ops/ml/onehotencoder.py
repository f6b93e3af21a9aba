"""ai.onnx.ml::OneHotEncoder of numbers."""

from __future__ import annotations

import numpy as np
from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result


class OneHotEncoder(OnnxOp):
    """Each element, cut to an integer, compared with the categories.

    Of categories that are equal the last one counts, as in ONNX Runtime. With ``zeros`` at 0, an
    element that is no category ends the run.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if not attrs.get("cats_int64s"):
            raise ctx.unsupported("its categories are strings", "give it integer categories")
        data = ctx.emit(relax.op.astype(inputs[0], "int64"))
        data = ctx.reshape(data, [*inputs.shape(0), 1])
        categories = np.array(attrs["cats_int64s"])
        found = ctx.emit(relax.op.equal(data, ctx.const(categories, "int64")))
        last = [c not in categories[k + 1 :] for k, c in enumerate(categories)]
        if not all(last):
            found = ctx.emit(relax.op.logical_and(found, ctx.const(np.array(last), "bool")))
        if not attrs.get("zeros", 1):
            data = ctx.emit(relax.op.astype(found, "int64"))
            any_of = ctx.emit(relax.op.max(data, [-1]))
            holds = relax.op.greater(relax.op.min(any_of), ctx.const(0, "int64"))
            found = ctx.checked(found, ctx.emit(holds))
        return relax.op.astype(found, "float32")
