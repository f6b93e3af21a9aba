"""GRU."""

from __future__ import annotations

from tvm import relax

from .. import Attrs
from ..common.recurrent import Cell, Expr, Recurrent


class GRU(Recurrent):
    """Gates in ONNX's order: update, reset, hidden."""

    gates = 3
    default_activations = ("Sigmoid", "Tanh")

    def late_gates(self, attrs: Attrs) -> int:
        # The hidden gate's bias is scaled by the reset gate, too.
        return 1 if attrs.get("linear_before_reset", 0) else 0

    def step(self, cell: Cell, projected: Expr, states: list[Expr]) -> list[Expr]:
        ctx, hidden = cell.ctx, states[0]
        if cell.attrs.get("linear_before_reset", 0):
            state = cell.project(hidden)
            update, reset = self._gates(cell, projected, cell.gate(state, 0, 2))
            inner = cell.gate(state, 2)
            if cell.bias is not None:
                inner = ctx.emit(relax.op.add(inner, cell.bias))
            inner = ctx.emit(relax.op.multiply(reset, inner))
        else:
            update, reset = self._gates(cell, projected, cell.project(hidden, 0, 2))
            inner = cell.project(ctx.emit(relax.op.multiply(reset, hidden)), 2)
        candidate = cell.apply(1, relax.op.add(cell.gate(projected, 2), inner))
        # (1 - z) * candidate + z * hidden
        old = relax.op.multiply(update, hidden)
        fresh = relax.op.multiply(relax.op.subtract(ctx.const(1, cell.dtype), update), candidate)
        return [relax.op.add(fresh, old)]

    @staticmethod
    def _gates(cell: Cell, projected: Expr, state: Expr) -> tuple[Expr, Expr]:
        both = cell.apply(0, relax.op.add(cell.gate(projected, 0, 2), state))
        return cell.gate(both, 0), cell.gate(both, 1)
