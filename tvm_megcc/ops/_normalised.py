"""What normalisations share: ``(x - mean) / sqrt(variance + epsilon)`` over some axes."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax

from . import Attrs, Context
from ._context import expr_dtype
from ._defaults import EPSILON


def apart_and_deviation(
    ctx: Context, x: relax.Expr, axes: Sequence[int], attrs: Attrs
) -> tuple[relax.Expr, relax.Expr]:
    """``x`` less its mean over the axes, which stay as ones, and the root of its variance.

    Of two means, which kernels of the library add up in runs: TVM's own is one long sum.
    """
    op, over = relax.op, list(axes)
    apart = ctx.emit(op.subtract(x, ctx.emit(op.mean(x, over, True))))
    variance = ctx.emit(op.mean(op.multiply(apart, apart), over, True))
    epsilon = ctx.const(attrs.get("epsilon", EPSILON), expr_dtype(x))
    return apart, ctx.emit(op.sqrt(op.add(variance, epsilon)))
