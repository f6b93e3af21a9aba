"""RNN."""

from __future__ import annotations

from tvm import relax

from ..common.recurrent import Cell, Expr, Recurrent


class RNN(Recurrent):
    """``f(x @ w + h @ r + biases)``."""

    gates = 1
    default_activations = ("Tanh",)

    def step(self, cell: Cell, projected: Expr, states: list[Expr]) -> list[Expr]:
        return [cell.apply(0, relax.op.add(projected, cell.project(states[0])))]
