"""Optimisers (ai.onnx.preview.training): one update rule for any number of tensors."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from tvm import relax

from .context import Attrs, Context, expr_dtype
from .inputs import Inputs
from .operator import OnnxOp, Result


class Optimiser(OnnxOp):
    """Operands: learning rate, number of updates, then all tensors, all gradients, all states.

    Results: all tensors, then all of each state.
    """

    #: How many states there are to a tensor.
    states: ClassVar[int]
    single = {0: "learning rate", 1: "number of updates"}

    @abstractmethod
    def update(
        self, place: Place, tensor: relax.Expr, gradient: relax.Expr, states: list[relax.Expr]
    ) -> list[relax.Expr]:
        """The tensor and its states after the update."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        kinds = 2 + self.states
        count = (len(inputs) - 2) // kinds
        if len(inputs) != 2 + kinds * count:
            raise ctx.ill_typed(f"has {len(inputs)} operands, not 2 and {kinds} to each tensor")
        columns = []
        for k in range(count):
            tensor, gradient, *states = (inputs[2 + kind * count + k] for kind in range(kinds))
            place = Place(ctx, attrs, inputs[0], inputs[1], expr_dtype(tensor))
            regular = place.scaled("norm_coefficient", tensor)
            gradient = gradient if regular is None else place.add(regular, gradient)
            columns.append(self.update(place, tensor, gradient, states))
        return tuple(column[kind] for kind in range(1 + self.states) for column in columns)


class Place:
    """The arithmetic of an update, in the tensor's type."""

    def __init__(
        self, ctx: Context, attrs: Attrs, rate: relax.Expr, count: relax.Expr, dtype: str
    ) -> None:
        self.ctx, self.attrs, self.dtype = ctx, attrs, dtype
        self.rate = ctx.emit(relax.op.astype(ctx.reshape(rate, []), dtype))
        self.count = ctx.reshape(count, [])

    def number(self, value: float) -> relax.Expr:
        return self.ctx.const(value, self.dtype)

    def attr(self, name: str, default: float = 0.0) -> float:
        return float(self.attrs.get(name, default))

    def scaled(self, name: str, x: relax.Expr) -> relax.Expr | None:
        """The product with an attribute; None where that is 0."""
        factor = self.attr(name)
        return self.mul(self.number(factor), x) if factor else None

    def later(self, then: relax.Expr, first: relax.Expr) -> relax.Expr:
        """`then`, but at the first update `first`."""
        is_later = self.ctx.emit(relax.op.greater(self.count, self.ctx.const(0, "int64")))
        return self.ctx.emit(relax.op.where(is_later, then, first))

    def add(self, a: relax.Expr, b: relax.Expr) -> relax.Expr:
        return self.ctx.emit(relax.op.add(a, b))

    def sub(self, a: relax.Expr, b: relax.Expr) -> relax.Expr:
        return self.ctx.emit(relax.op.subtract(a, b))

    def mul(self, a: relax.Expr, b: relax.Expr) -> relax.Expr:
        return self.ctx.emit(relax.op.multiply(a, b))

    def div(self, a: relax.Expr, b: relax.Expr) -> relax.Expr:
        return self.ctx.emit(relax.op.divide(a, b))
