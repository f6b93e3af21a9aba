"""ai.onnx.preview.training::Adam."""

from __future__ import annotations

from tvm import relax

from ..common.optimiser import Optimiser, Place


class Adam(Optimiser):
    """Momentum and squared gradients, both averaged, and corrected after the first update."""

    states = 2

    def update(
        self, place: Place, tensor: relax.Expr, gradient: relax.Expr, states: list[relax.Expr]
    ) -> list[relax.Expr]:
        alpha, beta = place.attr("alpha", 0.9), place.attr("beta", 0.999)
        momentum = _average(place, alpha, states[0], gradient)
        squares = _average(place, beta, states[1], place.mul(gradient, gradient))
        root = place.ctx.emit(relax.op.sqrt(squares))
        bottom = place.add(root, place.number(place.attr("epsilon")))
        step = place.mul(_rate(place, alpha, beta), place.div(momentum, bottom))
        result = place.sub(tensor, step)
        shrunk = place.scaled("norm_coefficient_post", result)
        return [result if shrunk is None else place.sub(result, shrunk), momentum, squares]


def _average(place: Place, weight: float, old: relax.Expr, new: relax.Expr) -> relax.Expr:
    kept = place.mul(place.number(weight), old)
    return place.add(kept, place.mul(place.number(1 - weight), new))


def _rate(place: Place, alpha: float, beta: float) -> relax.Expr:
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
