"""Normalisation over the last dim, as com.microsoft's fused operators have it."""

from __future__ import annotations

from collections.abc import Hashable

from tvm import relax

from ...shapes.constraints import BROADCAST, WHOLE, Labels, Shape
from .context import Attrs, Context, expr_dtype
from .inputs import Inputs

#: Default of the attribute ``epsilon``.
EPSILON = 1e-12


def summed(shapes: list[Shape | None], attrs: Attrs) -> Labels:
    """Labels of a sum of operands 0 and 1: axes before the last two broadcast."""

    def row(kind: str, shape: Shape) -> list[Hashable]:
        before = [(kind, len(shape) - axis) for axis in range(len(shape) - 2)]
        return [*before, *["row", "size"][-len(shape) :]]

    kinds = [WHOLE] + [BROADCAST] * (len(shapes) - 1)
    return [row(kind, shape) if shape else [] for kind, shape in zip(kinds, shapes, strict=True)]


def total(ctx: Context, inputs: Inputs, bias: int) -> relax.Expr:
    """The sum of operands 0 and 1, and of operand ``bias`` where there is one."""
    found = ctx.emit(relax.op.add(inputs[0], inputs[1]))
    return ctx.emit(relax.op.add(found, inputs[bias])) if inputs.has(bias) else found


def layer(
    ctx: Context, x: relax.Expr, gamma: relax.Expr, beta: relax.Expr | None, epsilon: float
) -> tuple[relax.Expr, relax.Expr, relax.Expr]:
    """The normalised value, the mean and the inverse deviation."""
    op, dtype = relax.op, expr_dtype(x)
    mean = ctx.emit(op.mean(x, [-1], True))
    centred = ctx.emit(op.subtract(x, mean))
    result, inverse = _by_size(ctx, centred, gamma, epsilon, dtype)
    if beta is not None:
        result = ctx.emit(op.add(result, beta))
    return result, mean, inverse


def simple(
    ctx: Context, x: relax.Expr, gamma: relax.Expr, epsilon: float
) -> tuple[relax.Expr, relax.Expr]:
    """As `layer`, without the mean: by the root of the mean square."""
    return _by_size(ctx, x, gamma, epsilon, expr_dtype(x))


def _by_size(
    ctx: Context, x: relax.Expr, gamma: relax.Expr, epsilon: float, dtype: str
) -> tuple[relax.Expr, relax.Expr]:
    op = relax.op
    square = ctx.emit(op.mean(ctx.emit(op.multiply(x, x)), [-1], True))
    root = ctx.emit(op.sqrt(ctx.emit(op.add(square, ctx.const(epsilon, dtype)))))
    inverse = ctx.emit(op.divide(ctx.const(1, dtype), root))
    return ctx.emit(op.multiply(ctx.emit(op.multiply(x, inverse)), gamma)), inverse
