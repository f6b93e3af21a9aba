"""How often a Loop runs at most, where only its condition ends it: a counter below a limit.

So TensorFlow's while loops are written (tf2onnx gives them no trip count):

    state, after an iteration        i' = i + step
    condition, after an iteration    i' < limit
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper
from tvm import relax

from ...dims import Size, ceildiv, maximum
from ...ops import Context
from ...ops.common.context import expr_dtype
from ...shapes.sizes import Real, SizeArray, size_array
from .. import mapped
from ..sequences import Value
from ..values import dtype_of

#: The largest i64.
_LAST = (1 << 63) - 1
#: Casts that keep the order of the integers that a counter may have.
_ORDERED = {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.INT64}
#: Comparison -> (number of the counter's operand, whether the limit itself goes on).
_BELOW = {
    "Less": (0, False),
    "LessOrEqual": (0, True),
    "Greater": (1, False),
    "GreaterOrEqual": (1, True),
}


def most_iterations(
    ctx: Context,
    body: onnx.GraphProto,
    states: Sequence[Value | None],
    outside: Callable[[str], Value | None],
) -> Value | None:
    """How many iterations there are at most: a scalar; None where the condition does not say.

    Parameters
    ----------
    states : sequence
        Before the first iteration.
    outside : callable
        What a name around the body stands for.
    """
    return _Body(body, states, outside).limit(ctx, body.output[0].name)


@dataclass(frozen=True, slots=True)
class _Counter:
    """``first``, then `step` more after each iteration."""

    first: Size
    step: int
    is_before: bool  # compared as it is before it grows


class _Body:
    def __init__(
        self,
        body: onnx.GraphProto,
        states: Sequence[Value | None],
        outside: Callable[[str], Value | None],
    ) -> None:
        self.producers = {name: node for node in body.node for name in node.output}
        self.constants = {t.name: mapped.to_array(t) for t in body.initializer}
        self.states = {
            port.name: (before, self.source(after.name))
            for port, before, after in zip(body.input[2:], states, body.output[1:], strict=False)
        }
        self.outside = outside

    def limit(self, ctx: Context, condition: str) -> Value | None:
        node = self.producers.get(self.source(condition))
        if node is None:
            return None
        if node.op_type == "And":
            each = (self.limit(ctx, name) for name in node.input)
            return next((found for found in each if found is not None), None)
        if node.op_type not in _BELOW:
            return None
        which, goes_on = _BELOW[node.op_type]
        counter, limit = self.counter(node.input[which]), self.kept(node.input[1 - which])
        if counter is None or limit is None:
            return None
        # Compared before it grows, it is `step` less; the first iteration asks for nothing.
        more = counter.step * counter.is_before + goes_on - counter.first
        known = _known(limit)
        if known is not None:
            rounds = maximum(1, ceildiv(known + more, counter.step))
            if isinstance(rounds, int) and rounds > _LAST:
                return None
            return size_array([rounds], (), "int64")
        if not isinstance(more, int) or not _is_integer(limit):
            return None
        return _of_tensor(ctx, limit, more, counter.step)

    def counter(self, name: str) -> _Counter | None:
        """What is compared, as a state that grows by a constant."""
        name = self.source(name)
        for state, (before, after) in self.states.items():
            first, step = _known(before), self.step(after, state)
            if name in (state, after) and first is not None and step > 0:
                return _Counter(first, step, is_before=name == state)
        return None

    def step(self, after: str, state: str) -> int:
        """By how much `after` is more than `state`; 0 where that is not a constant."""
        node = self.producers.get(after)
        if node is None or node.op_type != "Add":
            return 0
        sources = [self.source(name) for name in node.input]
        if state not in sources:
            return 0
        other = self.kept(sources[1 - sources.index(state)])
        known = _known(other)
        return known if isinstance(known, int) else 0

    def kept(self, name: str) -> Value | None:
        """The value of what no iteration changes."""
        name = self.source(name)
        if name in self.states:
            before, after = self.states[name]
            return before if after == name else None
        if name in self.constants:
            return self.constants[name]
        node = self.producers.get(name)
        if node is None:
            return self.outside(name)
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            return mapped.to_array(node.attribute[0].t)
        return None

    def source(self, name: str) -> str:
        """What is the same number, or ordered like it."""
        while (node := self.producers.get(name)) is not None:
            if node.op_type != "Identity" and not self.keeps_order(node):
                break
            name = node.input[0]
        return name

    def keeps_order(self, node: onnx.NodeProto) -> bool:
        """Whether it is a cast to a type of `_ORDERED`."""
        if node.op_type == "CastLike":
            before, _ = self.states.get(self.source(node.input[1]), (None, ""))
            if not isinstance(before, np.ndarray | SizeArray | relax.Expr):
                return False
            return helper.np_dtype_to_tensor_dtype(np.dtype(dtype_of(before))) in _ORDERED
        to = next((a.i for a in node.attribute if a.name == "to"), None)
        return node.op_type == "Cast" and to in _ORDERED


def _known(value: Value | None) -> Size | None:
    """An integer, or a size, of one element; None where it is no such thing."""
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype in (np.int32, np.int64):
        return int(value.reshape(-1)[0])
    if isinstance(value, SizeArray) and len(value.flat()) == 1:
        item = value.flat()[0]
        return None if isinstance(item, Real) else item
    return None


def _is_integer(value: Value) -> bool:
    return isinstance(value, relax.Expr) and expr_dtype(value) in ("int32", "int64")


def _of_tensor(ctx: Context, limit: relax.Expr, more: int, step: int) -> relax.Expr | None:
    above = more + step - 1
    if abs(above) > _LAST:
        return None
    op = relax.op
    wide = within = ctx.emit(op.reshape(ctx.emit(op.astype(limit, "int64")), []))
    # Where no i64 holds the sum there is one iteration, or no end.
    end = ctx.const(-_LAST - above if above < 0 else _LAST - above, "int64")
    if above:
        within = ctx.emit((op.maximum if above < 0 else op.minimum)(wide, end))
    reached = ctx.emit(op.add(within, ctx.const(above, "int64")))
    rounds = ctx.emit(op.floor_divide(reached, ctx.const(step, "int64")))
    rounds = ctx.emit(op.maximum(rounds, ctx.const(1, "int64")))
    if above <= 0:
        return rounds
    return ctx.emit(op.where(op.greater(wide, end), ctx.const(_LAST, "int64"), rounds))
