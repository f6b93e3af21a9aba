"""RNN, GRU and LSTM: one step of each; `common.recurrent` has the layer around it."""

from __future__ import annotations

from tvm import relax

from .. import Attrs
from ..common.recurrent import Cell, Expr, Recurrent


class RNN(Recurrent):
    """``f(x @ w + h @ r + biases)``."""

    gates = 1
    default_activations = ("Tanh",)

    def step(self, cell: Cell, projected: Expr, states: list[Expr]) -> list[Expr]:
        return [cell.apply(0, relax.op.add(projected, cell.project(states[0])))]


class GRU(Recurrent):
    """A GRU layer; gates in ONNX's order: update, reset, hidden."""

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


class LSTM(Recurrent):
    """An LSTM layer; gates in ONNX's order: input, output, forget, cell."""

    gates = 4
    states = 2
    default_activations = ("Sigmoid", "Tanh", "Tanh")

    def step(self, cell: Cell, projected: Expr, states: list[Expr]) -> list[Expr]:
        ctx, (hidden, memory) = cell.ctx, states
        total = ctx.emit(relax.op.add(projected, cell.project(hidden)))
        if cell.peepholes is None and not cell.attrs.get("input_forget", 0):
            gates = cell.apply(0, cell.gate(total, 0, 3))
            input_gate, output_gate, forget_gate = (cell.gate(gates, i) for i in range(3))
            memory = self._remember(cell, total, input_gate, forget_gate, memory)
            return [relax.op.multiply(output_gate, cell.apply(2, memory, False)), memory]
        input_gate = cell.apply(0, self._peep(cell, cell.gate(total, 0), 0, memory))
        if cell.attrs.get("input_forget", 0):
            forget_gate = ctx.emit(relax.op.subtract(ctx.const(1, cell.dtype), input_gate))
        else:
            forget_gate = cell.apply(0, self._peep(cell, cell.gate(total, 2), 2, memory))
        memory = self._remember(cell, total, input_gate, forget_gate, memory)
        output_gate = cell.apply(0, self._peep(cell, cell.gate(total, 1), 1, memory))
        return [relax.op.multiply(output_gate, cell.apply(2, memory, False)), memory]

    @staticmethod
    def _remember(cell: Cell, total: Expr, entry: Expr, forget: Expr, memory: Expr) -> Expr:
        candidate = cell.apply(1, cell.gate(total, 3))
        kept = relax.op.multiply(forget, memory)
        return cell.ctx.emit(relax.op.add(kept, relax.op.multiply(entry, candidate)))

    @staticmethod
    def _peep(cell: Cell, gate: Expr, index: int, memory: Expr) -> Expr:
        """Add a peephole connection; ``p`` holds those of input, output and forget gate."""
        if cell.peepholes is None:
            return gate
        start = index * cell.hidden
        weight = relax.op.strided_slice(cell.peepholes, [0], [start], [start + cell.hidden])
        return cell.ctx.emit(relax.op.add(gate, relax.op.multiply(weight, memory)))


OPERATORS = [RNN, GRU, LSTM]
