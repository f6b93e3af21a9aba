"""Operators that map to one Relax function of two (or any number of) broadcast operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import ClassVar

from tvm import relax

from ...shapes.axes import normal_axis
from ...shapes.constraints import broadcast
from .context import Attrs, Context
from .inputs import Inputs
from .operator import OnnxOp, Result


class Binary(OnnxOp):
    """Two operands with NumPy broadcasting; before opset 7 with the attribute ``axis``."""

    function: ClassVar[Callable[[relax.Expr, relax.Expr], relax.Expr]]
    labels = staticmethod(broadcast())

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return type(self).function(inputs[0], self.second(ctx, inputs, attrs))

    @staticmethod
    def second(ctx: Context, inputs: Inputs, attrs: Attrs) -> relax.Expr:
        """The second operand, from the axis on that the attribute names."""
        second = inputs[1]
        if ctx.opset >= 7 or "axis" not in attrs or not attrs.get("broadcast", 0):
            return second
        rank, shape = inputs.rank(0), list(inputs.shape(1))
        behind = rank - normal_axis(attrs["axis"], rank) - len(shape)
        return ctx.reshape(second, shape + [1] * behind)


class Variadic(OnnxOp):
    """Any number of operands, folded from the left."""

    function: ClassVar[Callable[[relax.Expr, relax.Expr], relax.Expr]]
    labels = staticmethod(broadcast())

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return reduce(type(self).function, inputs)
