"""ai.onnx.preview.training::Adagrad."""

from __future__ import annotations

from tvm import relax

from ..common.optimiser import Optimiser, Place


class Adagrad(Optimiser):
    """Steps that shrink with the sum of the squared gradients."""

    states = 1

    def update(
        self, place: Place, tensor: relax.Expr, gradient: relax.Expr, states: list[relax.Expr]
    ) -> list[relax.Expr]:
        count = place.ctx.emit(relax.op.astype(place.count, place.dtype))
        decay = place.mul(count, place.number(place.attr("decay_factor")))
        rate = place.div(place.rate, place.add(place.number(1.0), decay))
        squares = place.add(states[0], place.mul(gradient, gradient))
        root = place.ctx.emit(relax.op.sqrt(squares))
        bottom = place.add(root, place.number(place.attr("epsilon")))
        return [place.sub(tensor, place.div(place.mul(rate, gradient), bottom)), squares]
