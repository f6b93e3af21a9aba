"""Activations that ONNX names in attributes (recurrent layers, fused convolutions)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

import numpy as np
from tvm import relax

from .context import Context, expr_dtype


def activate(ctx: Context, name: str, x: relax.Expr, params: Sequence[float | None]) -> relax.Expr:
    """Apply the activation ``name`` (any case) with its parameters: the default for None, and for
    those that are left out at the end.

    Raises
    ------
    UnsupportedError
        No such activation.
    """
    rule = _RULES.get(name.lower())
    if rule is None:
        raise ctx.unsupported(f"activation '{name}'", f"use one of {', '.join(sorted(_RULES))}")
    function, defaults = rule
    pairs = zip_longest(params[: len(defaults)], defaults)
    values = [default if given is None else given for given, default in pairs]
    return function(ctx, x, *values)


def clip(ctx: Context, x: relax.Expr, low: float, high: float) -> relax.Expr:
    """``clip`` with constant bounds in the operand's dtype."""
    dtype = expr_dtype(x)
    if dtype == "uint64":  # a bound may be beyond int64, as which `clip` takes them
        above = relax.op.maximum(x, ctx.const(low, dtype))
        return relax.op.minimum(above, ctx.const(high, dtype))
    kind = int if "int" in dtype else float
    return relax.op.clip(x, relax.prim_value(kind(low)), relax.prim_value(kind(high)))


def hard_sigmoid(ctx: Context, x: relax.Expr, alpha: float, beta: float) -> relax.Expr:
    """``clip(x * alpha + beta, 0, 1)``."""
    return clip(ctx, ctx.emit(_line(ctx, x, alpha, beta)), 0.0, 1.0)


def leaky(ctx: Context, x: relax.Expr, alpha: float) -> relax.Expr:
    """``nn.leakyrelu``; as a ``where`` for slopes above 1, which TVM's maximum form cannot do.

    For a slope of 0, too, of which TVM's form makes 0 whatever ``x`` is: an infinity, NaN.
    """
    if 0.0 < alpha <= 1.0:
        return relax.op.nn.leakyrelu(x, alpha)
    scaled = relax.op.multiply(x, ctx.const(alpha, expr_dtype(x)))
    return relax.op.where(relax.op.less(x, ctx.const(0, expr_dtype(x))), scaled, x)


def elu(ctx: Context, x: relax.Expr, alpha: float) -> relax.Expr:
    """``x`` above zero, ``alpha * (exp(x) - 1)`` below."""
    dtype = expr_dtype(x)
    low = relax.op.minimum(x, ctx.const(0, dtype))  # exp of what is not used could overflow
    curve = relax.op.subtract(relax.op.exp(low), ctx.const(1, dtype))
    if alpha != 1.0:
        curve = relax.op.multiply(ctx.const(alpha, dtype), curve)
    return relax.op.where(relax.op.greater(x, ctx.const(0, dtype)), x, curve)


def _line(ctx: Context, x: relax.Expr, alpha: float, beta: float) -> relax.Expr:
    # The product is rounded to the operand's dtype as ONNX Runtime does it.
    dtype = expr_dtype(x)
    scaled = relax.op.multiply(x, ctx.const(np.float32(alpha), dtype))
    return relax.op.add(scaled, ctx.const(np.float32(beta), dtype))


def thresholded(ctx: Context, x: relax.Expr, alpha: float) -> relax.Expr:
    """``x`` above ``alpha``, else 0."""
    dtype = expr_dtype(x)
    return relax.op.where(relax.op.greater(x, ctx.const(alpha, dtype)), x, ctx.const(0, dtype))


def _scaled_tanh(ctx: Context, x: relax.Expr, alpha: float, beta: float) -> relax.Expr:
    dtype = expr_dtype(x)
    inner = relax.op.tanh(relax.op.multiply(x, ctx.const(beta, dtype)))
    return relax.op.multiply(inner, ctx.const(alpha, dtype))


def _softsign(ctx: Context, x: relax.Expr) -> relax.Expr:
    return relax.op.divide(x, relax.op.add(ctx.const(1, expr_dtype(x)), relax.op.abs(x)))


_Rule = tuple[Callable[..., relax.Expr], tuple[float, ...]]

#: Lower-case name -> function and the defaults of its parameters.
_RULES: dict[str, _Rule] = {
    "relu": (lambda ctx, x: relax.op.nn.relu(x), ()),
    "sigmoid": (lambda ctx, x: relax.op.sigmoid(x), ()),
    "tanh": (lambda ctx, x: relax.op.tanh(x), ()),
    "clip": (clip, (-3.4028234663852886e38, 3.4028234663852886e38)),
    "leakyrelu": (leaky, (0.01,)),
    "hardsigmoid": (hard_sigmoid, (0.2, 0.5)),
    "elu": (elu, (1.0,)),
    "affine": (_line, (1.0, 0.0)),
    "thresholdedrelu": (thresholded, (1.0,)),
    "scaledtanh": (_scaled_tanh, (1.0, 1.0)),
    "softsign": (_softsign, ()),
    "softplus": (lambda ctx, x: relax.op.nn.softplus(x), ()),
}
