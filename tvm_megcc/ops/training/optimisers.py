"""Optimisers: one update rule for any number of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

from tvm import relax

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.context import expr_dtype
from ..common.rows import row

Expr: TypeAlias = relax.Expr


class Optimiser(OnnxOp):
    """Operands: learning rate, number of updates, then all tensors, all gradients, all states.

    Results: all tensors, then all of each state.
    """

    #: How many states there are to a tensor.
    states: ClassVar[int]
    #: A place, a tensor, its gradient and its states -> the tensor and its states afterwards.
    update: ClassVar[Callable[[Place, Expr, Expr, list[Expr]], list[Expr]]]
    single = {0: "learning rate", 1: "number of updates"}

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
            columns.append(type(self).update(place, tensor, gradient, states))
        return tuple(column[kind] for kind in range(1 + self.states) for column in columns)


class Place:
    """The arithmetic of an update, in the tensor's type."""

    def __init__(self, ctx: Context, attrs: Attrs, rate: Expr, count: Expr, dtype: str) -> None:
        self.ctx, self.attrs, self.dtype = ctx, attrs, dtype
        self.rate = ctx.emit(relax.op.astype(ctx.reshape(rate, []), dtype))
        self.count = ctx.reshape(count, [])

    def number(self, value: float) -> Expr:
        return self.ctx.const(value, self.dtype)

    def attr(self, name: str, default: float = 0.0) -> float:
        return float(self.attrs.get(name, default))

    def scaled(self, name: str, x: Expr) -> Expr | None:
        """The product with an attribute; None where that is 0."""
        factor = self.attr(name)
        return self.mul(self.number(factor), x) if factor else None

    def later(self, then: Expr, first: Expr) -> Expr:
        """`then`, but at the first update `first`."""
        is_later = self.ctx.emit(relax.op.greater(self.count, self.ctx.const(0, "int64")))
        return self.ctx.emit(relax.op.where(is_later, then, first))

    def add(self, a: Expr, b: Expr) -> Expr:
        return self.ctx.emit(relax.op.add(a, b))

    def sub(self, a: Expr, b: Expr) -> Expr:
        return self.ctx.emit(relax.op.subtract(a, b))

    def mul(self, a: Expr, b: Expr) -> Expr:
        return self.ctx.emit(relax.op.multiply(a, b))

    def div(self, a: Expr, b: Expr) -> Expr:
        return self.ctx.emit(relax.op.divide(a, b))


def _adagrad(place: Place, tensor: Expr, gradient: Expr, states: list[Expr]) -> list[Expr]:
    count = place.ctx.emit(relax.op.astype(place.count, place.dtype))
    decay = place.mul(count, place.number(place.attr("decay_factor")))
    rate = place.div(place.rate, place.add(place.number(1.0), decay))
    squares = place.add(states[0], place.mul(gradient, gradient))
    root = place.ctx.emit(relax.op.sqrt(squares))
    bottom = place.add(root, place.number(place.attr("epsilon")))
    return [place.sub(tensor, place.div(place.mul(rate, gradient), bottom)), squares]


def _adam(place: Place, tensor: Expr, gradient: Expr, states: list[Expr]) -> list[Expr]:
    alpha, beta = place.attr("alpha", 0.9), place.attr("beta", 0.999)
    momentum = _average(place, alpha, states[0], gradient)
    squares = _average(place, beta, states[1], place.mul(gradient, gradient))
    root = place.ctx.emit(relax.op.sqrt(squares))
    bottom = place.add(root, place.number(place.attr("epsilon")))
    step = place.mul(_rate(place, alpha, beta), place.div(momentum, bottom))
    result = place.sub(tensor, step)
    shrunk = place.scaled("norm_coefficient_post", result)
    return [result if shrunk is None else place.sub(result, shrunk), momentum, squares]


def _average(place: Place, weight: float, old: Expr, new: Expr) -> Expr:
    kept = place.mul(place.number(weight), old)
    return place.add(kept, place.mul(place.number(1 - weight), new))


def _rate(place: Place, alpha: float, beta: float) -> Expr:
    """``rate * sqrt(1 - beta**count) / (1 - alpha**count)``, its powers in f64."""
    op, ctx, one = relax.op, place.ctx, place.ctx.const(1.0, "float64")
    count = ctx.emit(op.astype(place.count, "float64"))
    left = [
        ctx.emit(op.subtract(one, op.power(ctx.const(base, "float64"), count)))
        for base in (beta, alpha)
    ]
    factor = ctx.emit(op.divide(op.sqrt(left[0]), left[1]))
    corrected = place.mul(place.rate, ctx.emit(op.astype(factor, place.dtype)))
    return place.later(corrected, place.rate)


def _momentum(place: Place, tensor: Expr, gradient: Expr, states: list[Expr]) -> list[Expr]:
    alpha = place.number(place.attr("alpha"))
    beta = place.later(place.number(place.attr("beta")), place.number(1.0))
    momentum = place.add(place.mul(alpha, states[0]), place.mul(beta, gradient))
    step = momentum
    if place.attrs["mode"] == "nesterov":
        step = place.add(gradient, place.mul(alpha, momentum))
    return [place.sub(tensor, place.mul(place.rate, step)), momentum]


# fmt: off
OPERATORS = [
    row("Adagrad", "Steps that shrink with the sum of the squared gradients", Optimiser,
        states=1, update=_adagrad),
    row("Adam", "Momentum and squared gradients, averaged and corrected after the first update",
        Optimiser, states=2, update=_adam),
    row("Momentum", "Gradient descent with momentum, standard or Nesterov's", Optimiser,
        states=1, update=_momentum),
]
# fmt: on
