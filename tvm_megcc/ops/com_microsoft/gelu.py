"""Gelu and its kin."""

from __future__ import annotations

from tvm import relax

from ...shapes.constraints import last_dims
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.rows import row


def _gelu(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    return relax.op.nn.gelu(inputs[0])


def _bias_gelu(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    return relax.op.nn.gelu(ctx.emit(relax.op.add(inputs[0], inputs[1])))


def _fast_gelu(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    x = inputs[0]
    if inputs.has(1):
        x = ctx.emit(relax.op.add(x, inputs[1]))
    return relax.op.nn.gelu_tanh(x)


def _quick_gelu(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    x, alpha = inputs[0], attrs.get("alpha", 1.702)
    scaled = ctx.emit(relax.op.multiply(x, ctx.const(alpha, inputs.dtype(0))))
    return relax.op.multiply(x, ctx.emit(relax.op.sigmoid(scaled)))


# fmt: off
OPERATORS = [
    row("Gelu", "``nn.gelu``, by the error function", OnnxOp, convert=_gelu),
    row("BiasGelu", "``nn.gelu`` of the operand plus a bias for its last dim", OnnxOp,
        labels=last_dims, convert=_bias_gelu),
    row("FastGelu", "``nn.gelu_tanh``, with a bias for the last dim where there is one", OnnxOp,
        labels=last_dims, convert=_fast_gelu),
    row("QuickGelu", "``x * sigmoid(alpha * x)``", OnnxOp, convert=_quick_gelu),
]
# fmt: on
