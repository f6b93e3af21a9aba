"""Reductions: axes as attribute or operand, ``keepdims``, ``noop_with_empty_axes``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from tvm import relax

from . import Attrs, Context, Inputs, OnnxOp, Result
from ._context import expr_dtype
from ._shapes import normal_axis


class Reduction(OnnxOp):
    """A reduction; a subclass says what is reduced and how in `reduce`."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        rank = inputs.rank(0)
        axes = inputs.need_ints(1, "axes") if inputs.has(1) else attrs.get("axes")
        keep = bool(attrs.get("keepdims", 1))
        if not axes:
            if attrs.get("noop_with_empty_axes", 0):
                return self.reduce(ctx, inputs[0], [], keep)
            axes = range(rank)
        axes = [normal_axis(a, rank) for a in axes]
        return self.reduce(ctx, inputs[0], axes, keep)

    @abstractmethod
    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        """Reduce ``x`` over ``axes``; without axes only the elementwise part is applied."""


def total(x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
    """``sum``, of nothing where there are no axes."""
    return relax.op.sum(x, axes, keep) if axes else x


def through_double(
    ctx: Context, x: relax.Expr, function: Callable[[relax.Expr], relax.Expr]
) -> relax.Expr:
    """A function of reals; of integers it is computed in f64 and cut to an integer."""
    dtype = expr_dtype(x)
    if "int" not in dtype:
        return function(x)
    wide = ctx.emit(relax.op.astype(x, "float64"))
    return relax.op.astype(ctx.emit(function(wide)), dtype)


def extreme(
    function: Callable[[relax.Expr, list[int], bool], relax.Expr],
    x: relax.Expr,
    axes: list[int],
    keep: bool,
) -> relax.Expr:
    """``max`` or ``min``, of booleans as bytes."""
    if not axes:
        return x
    if expr_dtype(x) != "bool":
        return function(x, axes, keep)
    return relax.op.astype(function(relax.op.astype(x, "uint8"), axes, keep), "bool")
