"""LSTM, GRU and RNN: a few steps are unrolled; many, none, or a dynamic number are a loop.

The projections of all inputs are one ``matmul`` ahead of the steps; a step is one ``matmul`` of the
state and the gates' arithmetic. Directions, initial states, sequence lengths (known or not),
peepholes (LSTM), ``clip``, ``linear_before_reset`` (GRU) and both layouts are covered.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from tvm import relax

from ...dims import Size, compare, fixed
from ...shapes.constraints import EXACTLY, Labels, Shape
from . import weights
from .activations import activate, clip
from .context import Attrs, Context, expr_dtype
from .indexing import in_bounds
from .inputs import Inputs
from .loops import over_rows
from .operator import OnnxOp, Result
from .slices import sliced
from .weights import Weight

#: More steps than this, over all directions, are a loop.
UNROLLED = 8

Expr: TypeAlias = relax.Expr
Activation = Callable[[Context, Expr], Expr]


@dataclass(frozen=True, slots=True)
class Cell:
    """Weights (transposed for ``x @ w``), activations and options of one direction.

    ``recurrent`` is ``[hidden, gates * hidden]``; ``bias`` holds the recurrent biases only where
    they cannot be added to the projected input ahead of the steps. ``lengths`` are those of the
    sequences, where they may be shorter than the data's ``steps``.
    """

    ctx: Context
    steps: Size
    backward: bool
    lengths: Expr | None
    hidden: int
    dtype: str
    recurrent: Weight
    bias: Expr | None
    peepholes: Expr | None
    activations: tuple[Activation, ...]
    limit: float | None
    attrs: Attrs
    constants: dict[tuple[int, int | None], Expr] = field(default_factory=dict)

    def gate(self, value: Expr, index: int, count: int = 1) -> Expr:
        """``count`` neighbouring gates of a ``[batch, gates * hidden]`` value."""
        start = index * self.hidden
        stop = start + count * self.hidden
        return self.ctx.emit(relax.op.strided_slice(value, [1], [start], [stop]))

    def apply(self, which: int, value: Expr, limited: bool = True) -> Expr:
        """Activation number ``which``, of a gate after the cell's ``clip``."""
        value = self.ctx.emit(value)
        if self.limit is not None and limited:
            value = self.ctx.emit(clip(self.ctx, value, -self.limit, self.limit))
        return self.ctx.emit(self.activations[which](self.ctx, value))

    def project(self, state: Expr, first: int = 0, last: int | None = None) -> Expr:
        """``state @ recurrent``, of the gates from ``first`` to before ``last``."""
        key = (first, last)
        if key not in self.constants:
            size = weights.dims(self.ctx, self.recurrent)[1]
            stop = size if last is None else last * self.hidden
            columns = weights.part(self.ctx, self.recurrent, 1, first * self.hidden, stop)
            # One constant for all steps: a package stores each constant once.
            self.constants[key] = weights.expression(self.ctx, columns, self.dtype)
        return self.ctx.emit(relax.op.matmul(state, self.constants[key]))


def directions_of(attrs: Attrs) -> int:
    return 2 if attrs.get("direction", "forward") == "bidirectional" else 1


class Recurrent(OnnxOp):
    """Base class of LSTM, GRU and RNN; a subclass has the step."""

    slow = True
    gates: ClassVar[int]
    default_activations: ClassVar[tuple[str, ...]]
    #: Operand of the initial states, and number of them (LSTM has the cell state too).
    states: ClassVar[int] = 1

    @abstractmethod
    def step(self, cell: Cell, projected: Expr, states: list[Expr]) -> list[Expr]:
        """The states after one step; ``projected``, ``[batch, gates * h]``, is ``x @ w + b``."""

    def late_gates(self, attrs: Attrs) -> int:
        """Number of last gates whose recurrent bias cannot be added to the input's bias."""
        return 0

    def entered(self, ctx: Context, inputs: Inputs, rows: Expr, d: int, cell: Cell) -> Expr:
        """Multiply the inputs, ``[steps * batch, size]``, by the weights of direction `d`."""
        columns = weights.permuted(ctx, weights.row(ctx, weights.weight(inputs, 1), d), [1, 0])
        return ctx.emit(relax.op.matmul(rows, weights.expression(ctx, columns, cell.dtype)))

    def labels(self, shapes: list[Shape | None], attrs: Attrs) -> Labels:
        batch_first = attrs.get("layout", 0) == 1
        size = attrs.get("hidden_size")
        hidden: Hashable = "hidden" if size is None else (EXACTLY, size)
        directions: Hashable = (EXACTLY, directions_of(attrs))
        data: list[Hashable] = ["steps", "batch", "size"]
        state: list[Hashable] = [directions, "batch", hidden]
        if batch_first:
            data, state = ["batch", "steps", "size"], ["batch", directions, hidden]
        gates, biases, peepholes = (
            None if size is None else (EXACTLY, count * size)
            for count in (self.gates, 2 * self.gates, 3)
        )
        given: Labels = [[directions, gates, "size"], [directions, gates, hidden]]
        ends: Labels = [[directions, biases], ["batch"], state, state, [directions, peepholes]]
        return [data, *given, *ends][: len(shapes)]

    def wanted(self, directions: int, hidden: Size) -> dict[int, list[Size | None]]:
        """Number of an operand -> its dims, None for dims that any size fits."""
        rows = self.gates * hidden
        return {
            1: [directions, rows, None],
            2: [directions, rows, hidden],
            3: [directions, 2 * rows],
            7: [directions, 3 * hidden],
        }

    def _check_weights(self, ctx: Context, inputs: Inputs, attrs: Attrs, directions: int) -> None:
        """Raise where a weight has other dims than the layer's size and directions make."""
        hidden = attrs.get("hidden_size", inputs.shape(2)[-1])
        for number, wanted in self.wanted(directions, hidden).items():
            if not inputs.has(number):
                continue
            found = inputs.shape(number)
            dims = [b if b is not None else a for a, b in zip(found, wanted, strict=False)]
            if len(found) != len(wanted) or any(
                compare("eq", *pair) == 0 for pair in zip(found, dims, strict=False)
            ):
                said = ", ".join("any" if d is None else str(d) for d in wanted)
                raise ctx.ill_typed(
                    f"operand {number} has dims {list(found)}, which must be [{said}] for {hidden} "
                    f"hidden numbers and {directions} direction{'s' * (directions > 1)}"
                )

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        if inputs.rank(0) != 3:
            raise ctx.ill_typed(f"its input has {inputs.rank(0)} dims, not 3")
        directions = directions_of(attrs)
        self._check_weights(ctx, inputs, attrs, directions)
        batch_first = attrs.get("layout", 0) == 1
        data = relax.op.permute_dims(inputs[0], [1, 0, 2]) if batch_first else inputs[0]
        data = ctx.emit(data) if batch_first else data
        steps, batch, _ = ctx.shape(data)
        if inputs.has(4):
            data, inputs = _with_lengths(ctx, data, inputs, steps)
        sequences, finals = [], []
        for d in range(directions):
            cell = self._cell(ctx, inputs, attrs, d, steps)
            start = [self._initial(ctx, inputs, 5 + i, d, batch, batch_first, cell)
                     for i in range(self.states)]  # fmt: skip
            projected = self._projections(ctx, inputs, attrs, data, d, cell)
            short = isinstance(steps, int) and 0 < steps * directions <= UNROLLED
            outputs, final = (self._unroll if short else self._loop)(cell, projected, start)
            sequences.append(outputs)
            finals.append(final)
        return self._results(ctx, sequences, finals, batch_first)

    def _cell(self, ctx: Context, inputs: Inputs, attrs: Attrs, d: int, steps: Size) -> Cell:
        dtype = inputs.dtype(0)
        recurrent = weights.row(ctx, weights.weight(inputs, 2), d)
        hidden = weights.dims(ctx, recurrent)[1]
        bias = None
        if inputs.has(3) and self.late_gates(attrs):
            second = _bias_half(ctx, inputs, d, 1)
            cut = (self.gates - self.late_gates(attrs)) * hidden
            late = weights.part(ctx, second, 0, cut, self.gates * hidden)
            bias = weights.expression(ctx, late, dtype)
        peepholes = None
        if inputs.has(7):
            row = weights.row(ctx, weights.weight(inputs, 7), d)
            peepholes = weights.expression(ctx, row, dtype)
        return Cell(
            ctx=ctx,
            steps=steps,
            backward=attrs.get("direction", "forward") == "reverse" or d == 1,
            lengths=inputs[4] if _is_masked(inputs, steps) else None,
            hidden=hidden,
            dtype=dtype,
            recurrent=weights.permuted(ctx, recurrent, [1, 0]),
            bias=bias,
            peepholes=peepholes,
            activations=self._activations(ctx, attrs, d),
            limit=attrs.get("clip"),
            attrs=attrs,
        )

    def _activations(self, ctx: Context, attrs: Attrs, d: int) -> tuple[Activation, ...]:
        count = len(self.default_activations)
        names = attrs.get("activations", list(self.default_activations) * (d + 1))
        if len(names) < count * (d + 1):
            raise ctx.ill_typed(f"has {len(names)} activations and {count} for each direction")
        lists = {"a": iter(attrs.get("activation_alpha", [])),
                 "b": iter(attrs.get("activation_beta", []))}  # fmt: skip
        made: dict[tuple[str, tuple[float | None, ...]], Activation] = {}
        found = []
        for name in names[: count * (d + 1)]:
            # Only activations that have a parameter take one from the lists.
            uses = _PARAMETERS.get(name.lower(), "")
            params = tuple(next(lists[letter], None) for letter in uses)
            key = (name.lower(), params)
            found.append(made.setdefault(key, _bound(*key)))
        return tuple(found[count * d :])

    def _initial(
        self, ctx: Context, inputs: Inputs, index: int, d: int, batch: Size, first: bool, cell: Cell
    ) -> Expr:
        shape = [batch, cell.hidden]
        known = inputs.known(index)
        if not inputs.has(index):
            if isinstance(batch, int):
                return ctx.const(np.zeros(shape), cell.dtype)
            return ctx.emit(relax.op.zeros(ctx.prims(shape), cell.dtype))
        axis = 1 if first else 0
        if known is not None:
            return ctx.const(np.take(known, d, axis), cell.dtype)
        part = inputs[index]
        if inputs.shape(index)[axis] != 1:
            part = ctx.emit(relax.op.strided_slice(part, [axis], [d], [d + 1]))
        return ctx.reshape(part, shape)

    def _projections(
        self, ctx: Context, inputs: Inputs, attrs: Attrs, data: Expr, d: int, cell: Cell
    ) -> Expr:
        """``x @ w + b`` of all steps: ``[steps * batch, gates * hidden]``."""
        steps, batch, size = ctx.shape(data)
        rows = ctx.reshape(data, [steps * batch, size])
        result = self.entered(ctx, inputs, rows, d, cell)
        if not inputs.has(3):
            return result
        # The recurrent bias of the late gates is left out here.
        early = np.arange(self.gates) < self.gates - self.late_gates(attrs)
        second = _bias_half(ctx, inputs, d, 1)
        if not early.all():
            second = weights.kept(ctx, second, np.repeat(early, cell.hidden), cell.dtype)
        keep = weights.total(ctx, _bias_half(ctx, inputs, d, 0), second, cell.dtype)
        return ctx.emit(relax.op.add(result, weights.expression(ctx, keep, cell.dtype)))

    def _unroll(self, cell: Cell, projected: Expr, states: list[Expr]) -> tuple[Expr, list[Expr]]:
        """The outputs of all steps, ``[steps, 1, batch, hidden]``, and the last states."""
        ctx, batch, steps = cell.ctx, cell.ctx.shape(states[0])[0], fixed(cell.steps)
        outputs: list[Expr] = [states[0]] * steps
        for t in range(steps - 1, -1, -1) if cell.backward else range(steps):
            row = projected
            if steps > 1:
                row = sliced(ctx, projected, [(0, t * batch, (t + 1) * batch, 1)])
            number = None if cell.lengths is None else ctx.const(t, expr_dtype(cell.lengths))
            outputs[t], states = self._step(cell, row, states, number)
        if not ctx.wants(0):
            return states[0], states
        return _joined(ctx, outputs, 0, [steps, 1, batch, cell.hidden]), states

    def _loop(self, cell: Cell, projected: Expr, states: list[Expr]) -> tuple[Expr, list[Expr]]:
        """As `_unroll`, for any number of steps."""
        ctx, batch, lengths = cell.ctx, cell.ctx.shape(states[0])[0], cell.lengths
        rows = ctx.reshape(projected, [cell.steps, batch, ctx.shape(projected)[1]])
        last = None
        if lengths is not None and cell.backward:
            last = ctx.sizes([cell.steps - 1], "int64")

        def step(
            inner: Context, number: Expr, before: list[Expr], row: list[Expr]
        ) -> tuple[list[Expr], list[Expr]]:
            place = None
            if lengths is not None:
                place = number if last is None else inner.emit(relax.op.subtract(last, number))
                place = inner.emit(relax.op.astype(place, expr_dtype(lengths)))
            output, after = self._step(replace(cell, ctx=inner), row[0], before, place)
            return after, [output] if ctx.wants(0) else []

        name = f"{ctx.op.lower()}_{'backward' if cell.backward else 'forward'}"
        finals, made = over_rows(ctx, name, [rows], states, step, cell.backward)
        if not made:
            return finals[0], finals
        return ctx.reshape(made[0], [cell.steps, 1, batch, cell.hidden]), finals

    def _step(
        self, cell: Cell, row: Expr, states: list[Expr], number: Expr | None
    ) -> tuple[Expr, list[Expr]]:
        """The output and the states of a step; past a sequence's end the state stays.

        ``number`` is the step's, where sequences may be shorter than the data.
        """
        ctx = cell.ctx
        after = [ctx.emit(state) for state in self.step(cell, row, states)]
        if number is None:
            return after[0], after
        batch = ctx.shape(states[0])[0]
        alive = ctx.reshape(ctx.emit(relax.op.greater(cell.lengths, number)), [batch, 1])
        output = ctx.emit(relax.op.where(alive, after[0], ctx.const(0, cell.dtype)))
        pairs = zip(after, states, strict=True)
        return output, [ctx.emit(relax.op.where(alive, new, old)) for new, old in pairs]

    def _results(
        self, ctx: Context, sequences: list[Expr], finals: list[list[Expr]], first: bool
    ) -> Result:
        batch, hidden = ctx.shape(finals[0][0])
        directions = len(sequences)
        results: list[Any] = [sequences[0]]  # nobody looks at it if it is not wanted
        if ctx.wants(0):
            # The directions between the steps and the batch.
            sequence = sequences[0] if directions == 1 else ctx.emit(relax.op.concat(sequences, 1))
            order = [2, 0, 1, 3]
            results[0] = relax.op.permute_dims(sequence, order) if first else sequence
        for index in range(self.states):
            state = _joined(ctx, [final[index] for final in finals], 0, [directions, batch, hidden])
            results.append(relax.op.permute_dims(state, [1, 0, 2]) if first else state)
        return tuple(results)


def _with_lengths(ctx: Context, data: Expr, inputs: Inputs, steps: Size) -> tuple[Expr, Inputs]:
    """The data and the operands, of a run in which no sequence is longer than the data."""
    known = inputs.known(4)
    if known is None:
        holds = in_bounds(ctx, inputs[4], 0, steps)
        return data, inputs.replaced(4, ctx.checked(inputs[4], holds))
    if known.size and known.min() < 0:
        raise ctx.ill_typed(f"a sequence has {known.min()} steps")
    return ctx.at_least(data, 0, int(known.max(initial=0))), inputs


def _is_masked(inputs: Inputs, steps: Size) -> bool:
    """Whether a sequence may be shorter than the data."""
    lengths = inputs.known(4)
    known = lengths is not None and isinstance(steps, int)
    return inputs.has(4) and not (known and bool(np.all(lengths == steps)))


def _joined(ctx: Context, parts: list[Expr], axis: int, shape: list[Size]) -> Expr:
    whole = parts[0] if len(parts) == 1 else ctx.emit(relax.op.concat(parts, axis))
    return ctx.reshape(whole, shape)


def _bias_half(ctx: Context, inputs: Inputs, d: int, half: int) -> Weight:
    bias = weights.row(ctx, weights.weight(inputs, 3), d)
    size = weights.dims(ctx, bias)[0] // 2
    return weights.part(ctx, bias, 0, half * size, (half + 1) * size)


#: Which of ``activation_alpha`` and ``activation_beta`` an activation reads.
_PARAMETERS = {"leakyrelu": "a", "elu": "a", "thresholdedrelu": "a", "hardsigmoid": "ab",
               "scaledtanh": "ab", "affine": "ab"}  # fmt: skip


def _bound(name: str, params: tuple[float | None, ...]) -> Activation:
    return lambda ctx, x: activate(ctx, name, x, params)
