"""Mean, variance, and values less their mean, for normalisations."""

from __future__ import annotations

from typing import NamedTuple

from tvm import relax

from .context import Attrs, Context, expr_dtype
from .defaults import EPSILON


class Centred(NamedTuple):
    """A value less its mean over some axes, which stay as ones, the mean and the variance."""

    value: relax.Expr
    mean: relax.Expr
    variance: relax.Expr

    def deviation(self, ctx: Context, attrs: Attrs) -> relax.Expr:
        """``sqrt(variance + epsilon)``."""
        epsilon = ctx.const(attrs.get("epsilon", EPSILON), expr_dtype(self.value))
        return ctx.emit(relax.op.sqrt(relax.op.add(self.variance, epsilon)))


def centred(ctx: Context, x: relax.Expr, axes: list[int]) -> Centred:
    """By two means, which the library's kernels sum in runs: TVM's variance is one long sum."""
    mean = ctx.emit(relax.op.mean(x, axes, True))
    value = ctx.emit(relax.op.subtract(x, mean))
    variance = ctx.emit(relax.op.mean(relax.op.multiply(value, value), axes, True))
    return Centred(value, mean, variance)
