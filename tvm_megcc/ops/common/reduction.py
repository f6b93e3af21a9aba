"""Reductions: axes as attribute or operand, ``keepdims``, ``noop_with_empty_axes``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from tvm import relax, te

from ...dims import Size
from ...shapes.axes import normal_axes
from .axes_data import dropped, halves
from .context import Attrs, Context, expr_dtype
from .inputs import Inputs
from .operator import OnnxOp, Result


class Reduction(OnnxOp):
    """A reduction; a subclass has the computation, `reduce`.

    Axes that are computed at run time split every dim into what stays and what is reduced, one of
    which is 1: the axes of the latter are known.
    """

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        shape = inputs.shape(0)
        rank = len(shape)
        keep, noop = bool(attrs.get("keepdims", 1)), bool(attrs.get("noop_with_empty_axes", 0))
        if inputs.is_computed(1) and inputs.shape(1) != (0,) and rank:
            return self._by_data(ctx, inputs, keep, noop)
        axes = inputs.ints(1) if inputs.has(1) else attrs.get("axes")
        if not axes:
            if noop:
                return self.reduce(ctx, inputs[0], [], keep)
            axes = range(rank)
        return self.reduce(ctx, inputs[0], normal_axes(axes, rank), keep)

    def _by_data(self, ctx: Context, inputs: Inputs, keep: bool, noop: bool) -> Result:
        shape = inputs.shape(0)
        (count,) = inputs.shape(1)
        if not keep and not isinstance(count, int):
            raise ctx.unsupported(
                "how many axes it drops is known only at run time",
                "fix the number of axes, or use keepdims=1",
            )
        stays, goes = halves(ctx, inputs[1], shape, none_is_all=not noop)
        data = ctx.emit(_split(ctx, inputs[0], stays, goes))
        rank = len(shape)
        result = ctx.emit(self.reduce(ctx, data, list(range(rank, 2 * rank)), False))
        return result if keep else dropped(ctx, result, inputs[1], shape)

    @abstractmethod
    def reduce(self, ctx: Context, x: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        """Reduce ``x`` over ``axes``; without axes only the elementwise part is applied."""


def _split(
    ctx: Context, data: relax.Expr, stays: Sequence[Size], goes: Sequence[Size]
) -> relax.Expr:
    """Each axis as two axes, in the front and in the back half; one of each pair is of size 1."""
    shape, rank = [*ctx.prims(stays), *ctx.prims(goes)], len(stays)

    def split(x: te.Tensor) -> te.Tensor:
        def element(*at: Any) -> Any:
            return x[tuple(a + b for a, b in zip(at[:rank], at[rank:], strict=True))]

        return te.compute(shape, element, name="split")

    return ctx.builder.emit_te(split, data)


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


def extreme(x: relax.Expr, axes: list[int], keep: bool, largest: bool) -> relax.Expr:
    """``max`` or ``min``, of booleans as bytes."""
    if not axes:
        return x
    function = relax.op.max if largest else relax.op.min
    if expr_dtype(x) == "bool":
        return relax.op.astype(function(relax.op.astype(x, "uint8"), axes, keep), "bool")
    return function(x, axes, keep)
