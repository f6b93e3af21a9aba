"""ai.onnx.preview.training::Momentum."""

from __future__ import annotations

from tvm import relax

from ..common.optimiser import Optimiser, Place


class Momentum(Optimiser):
    """Stochastic gradient descent with momentum, standard or Nesterov's."""

    states = 1

    def update(
        self, place: Place, tensor: relax.Expr, gradient: relax.Expr, states: list[relax.Expr]
    ) -> list[relax.Expr]:
        alpha = place.number(place.attr("alpha"))
        beta = place.later(place.number(place.attr("beta")), place.number(1.0))
        momentum = place.add(place.mul(alpha, states[0]), place.mul(beta, gradient))
        step = momentum
        if place.attrs["mode"] == "nesterov":
            step = place.add(gradient, place.mul(alpha, momentum))
        return [place.sub(tensor, place.mul(place.rate, step)), momentum]
