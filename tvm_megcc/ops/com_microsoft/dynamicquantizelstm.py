"""com.microsoft::DynamicQuantizeLSTM, whose products are of integers.

Data and states are quantised by their own ranges.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields

import numpy as np
from tvm import relax

from ...dims import Size
from ...shapes.constraints import EXACTLY, Labels, Shape
from .. import Attrs, Context, Inputs, Result
from ..common.composite import Composite
from ..common.quantised import by_its_range
from ..common.recurrent import Cell, Expr, directions_of
from ..onnx.recurrent import LSTM


@dataclass(frozen=True, slots=True)
class _Weight:
    """``[rows, columns]`` less its zero point, and a scale for each column."""

    values: np.ndarray
    scales: np.ndarray

    @staticmethod
    def of(inputs: Inputs, index: int, scale: int, d: int, what: str) -> _Weight:
        values = inputs.need(index, what)[d].astype(np.int32)
        point = np.atleast_1d(inputs.need(scale + 1, f"the zero point of {what}")[d])
        scales = np.atleast_1d(inputs.need(scale, f"the scale of {what}")[d])
        columns = np.broadcast_to(scales, values.shape[1:])
        return _Weight(values - point.astype(np.int32), columns.astype(np.float32))

    def times(self, ctx: Context, x: Expr) -> Expr:
        """``x @ weight``, x quantised by its range."""
        whole, scale = by_its_range(ctx, x)
        total = ctx.emit(relax.op.matmul(whole, ctx.const(self.values, "int32")))
        factor = ctx.emit(relax.op.multiply(scale, ctx.const(self.scales, "float32")))
        return ctx.emit(relax.op.multiply(relax.op.astype(total, "float32"), factor))


@dataclass(frozen=True, slots=True)
class _QuantisedCell(Cell):
    weight: _Weight | None = None

    def project(self, state: Expr, first: int = 0, last: int | None = None) -> Expr:
        assert self.weight is not None and first == 0 and last is None
        return self.weight.times(self.ctx, state)


class _Layer(LSTM):
    """Operands: those of LSTM, its weights transposed, then their scales and zero points."""

    def wanted(self, directions: int, hidden: Size) -> dict[int, list[Size | None]]:
        dims = super().wanted(directions, hidden)
        turned = {k: [directions, *dims[k][:0:-1]] for k in (1, 2)}
        return {**dims, **turned}

    def entered(self, ctx: Context, inputs: Inputs, rows: Expr, d: int, cell: Cell) -> Expr:
        weight = _Weight.of(inputs, 1, 8, d, "its weight")
        rows = ctx.agreeing(rows, [ctx.shape(rows)[0], weight.values.shape[0]], "its weight")
        return weight.times(ctx, _reached(ctx, inputs, rows))

    def _cell(self, ctx: Context, inputs: Inputs, attrs: Attrs, d: int, steps: Size) -> Cell:
        weight = _Weight.of(inputs, 2, 10, d, "its recurrent weight")
        turned = inputs.need(2, "its recurrent weight").transpose(0, 2, 1)
        like = inputs.replaced(2, turned)
        cell = super()._cell(ctx, like, attrs, d, steps)
        given = {f.name: getattr(cell, f.name) for f in fields(Cell)}
        return _QuantisedCell(**given, weight=weight)


def _reached(ctx: Context, inputs: Inputs, rows: Expr) -> Expr:
    """``[steps * batch, size]`` with 0 in the steps that no sequence has: they have no range."""
    if not inputs.has(4):
        return rows
    op, (steps, batch, _) = relax.op, inputs.shape(0)
    lengths = inputs.known(4)
    if lengths is not None and isinstance(steps, int) and lengths.max(initial=0) == steps:
        return rows
    number = ctx.emit(op.arange(0, ctx.prim(steps), 1, inputs.dtype(4)))
    alive = ctx.emit(op.less(number, ctx.emit(op.max(inputs[4]))))
    whole = ctx.reshape(rows, [steps, batch, ctx.shape(rows)[1]])
    kept = op.where(ctx.reshape(alive, [steps, 1, 1]), whole, ctx.const(0, "float32"))
    return ctx.reshape(ctx.emit(kept), ctx.shape(rows))


class DynamicQuantizeLSTM(Composite):
    """An LSTM of quantised weights: `_Layer`."""

    alike = ((1, 2, 9, 11),)

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        directions: Hashable = (EXACTLY, directions_of(attrs))
        weights: Labels = [[directions, "size", None], [directions, "hidden", None]]
        data: Labels = [["steps", "batch", "size"]]
        labels: Labels = [*data, *weights, [directions, None], ["batch"]]
        labels += [[directions, "batch", "hidden"]] * 2
        return [*labels, *([] for _ in shapes)][: len(shapes)]

    def expand(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        return _Layer().convert(ctx, inputs, attrs)


OPERATORS = [DynamicQuantizeLSTM]
