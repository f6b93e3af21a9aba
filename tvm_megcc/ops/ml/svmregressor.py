"""ai.onnx.ml::SVMRegressor."""

from __future__ import annotations

import numpy as np
from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.scores import transformed
from ..common.svm import features, kernel


class SVMRegressor(OnnxOp):
    """The kernels with the support vectors, weighted; or a linear model without such vectors."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        data, count = features(ctx, inputs[0]), attrs.get("n_supports", 0)
        weights = np.array(attrs["coefficients"], np.float32)[:, None]
        if count:
            vectors = np.array(attrs["support_vectors"], np.float32).reshape(count, -1)
            data = kernel(ctx, data, vectors, attrs)
        data = ctx.agreeing(data, [ctx.shape(data)[0], weights.size], "its coefficients")
        total = ctx.emit(relax.op.matmul(data, ctx.const(weights, "float32")))
        total = ctx.emit(relax.op.add(total, ctx.const(attrs["rho"][0], "float32")))
        if attrs.get("one_class", 0):
            inside = ctx.emit(relax.op.greater(total, ctx.const(0, "float32")))
            return relax.op.where(inside, ctx.const(1, "float32"), ctx.const(-1, "float32"))
        return transformed(ctx, total, attrs.get("post_transform", "NONE"))
