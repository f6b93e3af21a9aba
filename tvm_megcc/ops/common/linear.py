"""The linear models of ai.onnx.ml, which compute in f32."""

from __future__ import annotations

import numpy as np
from tvm import relax

from .context import Attrs, Context, expr_dtype
from .inputs import Inputs
from .scores import as_real


def linear(
    ctx: Context, inputs: Inputs, attrs: Attrs, targets: int | None, dtype: str = "float32"
) -> relax.Expr:
    """``[rows, targets]`` scores in `dtype`; without `targets` there are as many as intercepts."""
    data = as_real(ctx, inputs[0])
    data = data if expr_dtype(data) == dtype else ctx.as_f32(data)
    weights = np.array(attrs["coefficients"], np.float32)
    intercepts = attrs.get("intercepts") or []
    if targets is None:
        targets = len(intercepts) or weights.size // ctx.static(ctx.shape(data)[1:])[0]
    weights = weights.reshape(targets, -1)
    wanted = [*ctx.shape(data)[:-1], weights.shape[1]]
    data = ctx.agreeing(data, wanted, "its coefficients")
    matrix = ctx.const(weights.T, dtype)
    scores = ctx.emit(relax.op.matmul(data, matrix))
    if not intercepts:
        return scores
    return ctx.emit(relax.op.add(scores, ctx.const(np.array(intercepts), dtype)))
