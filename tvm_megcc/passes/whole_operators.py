"""WholeOperators: normalisations and softmax that exporters write in pieces become one operator.

    d = x - mean(x);  d / sqrt(mean(d * d) + eps) * g + b  ->  nn.layer_norm(x, g, b)
    x / sqrt(mean(x * x) + eps) * g                        ->  nn.rms_norm(x, g)
    e = exp(x - max(x));  e / sum(e)                       ->  nn.softmax(x)
    d = x - max(x);  d - log(sum(exp(d)))                  ->  nn.log_softmax(x)

`ROWS` is the table: an operator that pieces end with, and the functions that look at its calls.
They find pieces by their structure (ADR 0030). Pieces are read by the pattern alone, else their
numbers would be computed twice; only means and largest elements may have other readers.

A normalisation is over the last axes, as its kernel has it. One over the channels of an image is
written between two permutations, which cost nothing where images are channels last (ADR 0020). One
over planes stays in pieces: there the last axis is another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import tvm_ffi
from tvm import relax

from tvm_megcc.dims import Size, fixed_dims, is_static
from tvm_megcc.relax_tools.calls import op_name, permutation_of, reduced_axes
from tvm_megcc.relax_tools.exprs import constant, dtype_of, make_constant, shape_of, use_counts
from tvm_megcc.relax_tools.rewriting import Rewriter, bound, on, rewriting_pass
from tvm_megcc.relax_tools.traits import RESHAPES

#: Types that kernels of all these operators have. They compute in f32.
TYPES = ("f32", "f16")
#: Fewest elements of a line for which a normalisation's kernel takes no more instructions than the
#: pieces; of channels, between two permutations of an image that is not channels last.
FEWEST, FEWEST_CHANNELS = 4, 64
#: Number of readers that a value may have if nothing is computed twice for them.
ANY = 1 << 30
#: Permutations of an image: channels become the last axis, and the second one again.
CHANNELS_LAST, CHANNELS_FIRST = [0, 2, 3, 1], [0, 3, 1, 2]


@rewriting_pass("tvm_megcc.WholeOperators", clean=True)
class WholeOperators(Rewriter):
    """Replace normalisations and softmax in pieces by operators."""

    def enter(self, func: relax.Function) -> None:
        super().enter(func)
        self.uses = use_counts(func)

    @on("relax.divide", "relax.multiply", "relax.add", "relax.subtract")
    def _whole(self, call: relax.Call) -> relax.Expr:
        if dtype_of(call) in TYPES:
            for row in ROWS[op_name(call)]:
                made = row(self, call)
                if made is not None:
                    return made
        return call

    def sole(self, expr: relax.Expr, *operators: str, uses: int = 1) -> relax.Call | None:
        """The call of one of `operators` that a variable is bound to, if it has few readers."""
        call = bound(self, expr)
        found = op_name(call).removeprefix("relax.") in operators
        return call if found and self.uses.get(expr, 0) <= uses else None

    def widened(self, expr: relax.Expr, least: str) -> relax.Expr:
        """`expr` without casts between floats that are at least as wide as the type `least`.

        Such casts are around statistics of f16 that are computed in f32.
        """
        if least not in TYPES:
            return expr
        wide = TYPES[: TYPES.index(least) + 1]
        while (cast := self.sole(expr, "astype", uses=2)) is not None:
            if not {dtype_of(cast), dtype_of(cast.args[0])} <= {*wide}:
                break
            expr = cast.args[0]
        return expr

    def reduced(self, expr: relax.Expr, name: str, uses: int = 1) -> Reduced | None:
        """What the reduction `name` reads; None if there is none, or its axes vanish."""
        call = self.sole(expr, name, uses=uses)
        if call is None or not call.attrs.keepdims:
            return None
        return Reduced(call.args[0], reduced_axes(call))

    def number(self, expr: relax.Expr) -> float | None:
        """Number that a constant has once or many times; None for any other expression."""
        value = bound(self, expr)
        while op_name(value) in RESHAPES:
            value = bound(self, value.args[0])
        array = constant(value)
        if array is None or not array.size or (array != array.flat[0]).any():
            return None
        return float(array.flat[0])

    def are_equal(self, a: relax.Expr, b: relax.Expr, depth: int = 3) -> bool:
        """Whether values are computed alike: some exporters write ``x - mean`` twice."""
        if a.same_as(b):
            return True
        one, other = bound(self, a), bound(self, b)
        if not depth or not op_name(one) or op_name(one) != op_name(other):
            return False
        return bool(tvm_ffi.structural_equal(one.attrs, other.attrs)) and all(
            self.are_equal(x, y, depth - 1) for x, y in zip(one.args, other.args, strict=True)
        )


class Reduced(NamedTuple):
    """The operand of a reduction, and its axes, sorted."""

    of: relax.Expr
    axes: list[int]


class Power(NamedTuple):
    """``factor * base ** exponent``; a factor of None is 1."""

    base: relax.Expr
    exponent: float
    factor: relax.Expr | None = None


class MeanSquare(NamedTuple):
    """``mean(value * value) + epsilon`` over `axes`."""

    value: relax.Expr
    axes: list[int]
    epsilon: float


class Normal(NamedTuple):
    """``factor * value / sqrt(mean(value * value) + epsilon)``; a factor of None is 1."""

    value: relax.Expr
    axes: list[int]
    epsilon: float
    factor: relax.Expr | None


def _orders(call: relax.Call) -> Iterator[tuple[relax.Expr, relax.Expr]]:
    """Both operands of a call, in each order that means the same."""
    first, second = call.args
    yield first, second
    if op_name(call) in ("relax.add", "relax.multiply"):
        yield second, first


def _power(pieces: WholeOperators, expr: relax.Expr, least: str) -> Power | None:
    """A root, an inverse root, or a factor over a root; None for any other expression."""
    call = pieces.sole(pieces.widened(expr, least), "sqrt", "rsqrt", "power", "divide")
    if call is None:
        return None
    if op_name(call) != "relax.divide":
        written = {"relax.sqrt": 0.5, "relax.rsqrt": -0.5}.get(op_name(call))
        exponent = pieces.number(call.args[1]) if written is None else written
        return None if exponent is None else Power(call.args[0], exponent)
    factor, under = call.args
    root = _power(pieces, under, least)
    if root is None or root.factor is not None:
        return None
    return Power(root.base, -root.exponent, None if pieces.number(factor) == 1 else factor)


def _mean_square(pieces: WholeOperators, expr: relax.Expr, least: str) -> MeanSquare | None:
    call = pieces.sole(pieces.widened(expr, least), "add")
    for mean, added in _orders(call) if call is not None else ():
        epsilon = pieces.number(added)
        reduced = pieces.reduced(pieces.widened(mean, least), "mean")
        if reduced is not None and epsilon is not None and epsilon >= 0:
            value = _under_square(pieces, pieces.widened(reduced.of, least))
            if value is not None:
                return MeanSquare(pieces.widened(value, least), reduced.axes, epsilon)
    return None


def _under_square(pieces: WholeOperators, expr: relax.Expr) -> relax.Expr | None:
    """The value whose square an expression is."""
    call = pieces.sole(expr, "multiply", "power", "square")
    if call is None:
        return None
    value, other = call.args[0], call.args[-1]
    if op_name(call) == "relax.multiply":
        return value if pieces.are_equal(value, other) else None
    return value if op_name(call) == "relax.square" or pieces.number(other) == 2 else None


def _normal(pieces: WholeOperators, call: relax.Call) -> Normal | None:
    """A value over the root of its mean square; None for any other call."""
    least = dtype_of(call)
    divides = op_name(call) == "relax.divide"
    for value, other in _orders(call):
        root = _power(pieces, other, least)
        if root is None or root.exponent != (0.5 if divides else -0.5):
            continue
        found = _mean_square(pieces, root.base, least)
        if found is not None and pieces.are_equal(found.value, value):
            return Normal(value, found.axes, found.epsilon, None if divides else root.factor)
    return None


def _lines(pieces: WholeOperators, x: relax.Expr, axes: list[int]) -> tuple[Size, ...] | None:
    """Fixed sizes of the axes of a normalisation that is one for its kernel; None for others."""
    shape = shape_of(x, pieces.symbols)
    if shape is None or axes != [*range(axes[0], len(shape))] or (len(shape), axes[0]) == (4, 2):
        return None
    lines = shape[axes[0] :]
    return lines if is_static(lines) and math.prod(fixed_dims(lines)) >= FEWEST else None


def _centred(pieces: WholeOperators, value: relax.Expr, axes: list[int]) -> relax.Expr | None:
    """What a value was before its mean over `axes` was subtracted."""
    call = pieces.sole(value, "subtract", uses=3)
    if call is None:
        return None
    x, mean = call.args
    least = dtype_of(x)
    reduced = pieces.reduced(pieces.widened(mean, least), "mean", uses=ANY)
    if reduced is None or reduced.axes != axes:
        return None
    return x if pieces.are_equal(pieces.widened(reduced.of, least), x) else None


def _normalised(
    x: relax.Expr,
    lines: tuple[Size, ...],
    epsilon: float,
    scale: relax.Expr | None = None,
    bias: relax.Expr | None = None,
) -> relax.Call:
    """``nn.layer_norm`` over the last axes, of fixed sizes where scale or bias is None."""
    rank, dtype = int(x.ty.ndim), str(x.ty.dtype)

    def full(number: float) -> relax.Expr:
        return make_constant(np.full(fixed_dims(lines), number, dtype))

    return relax.op.nn.layer_norm(
        x,
        full(1) if scale is None else scale,
        full(0) if bias is None else bias,
        [*range(rank - len(lines), rank)],
        epsilon,
        bias is not None,
        scale is not None,
    )


def _per_line(
    pieces: WholeOperators, operand: relax.Expr, lines: tuple[Size, ...], dtype: str
) -> relax.Expr | None:
    """A scale or bias in the shape of a line; None if it has other elements."""
    shape, array = shape_of(operand, pieces.symbols), constant(operand)
    if shape is None or dtype_of(operand) != dtype:
        return None
    extra = len(shape) - len(lines)
    if extra < 0 or shape[extra:] != lines or any(size != 1 for size in shape[:extra]):
        return None
    if not extra:
        return operand
    return None if array is None else make_constant(array.reshape(fixed_dims(lines)))


def _narrow(pieces: WholeOperators, x: relax.Expr, dtype: str) -> relax.Expr | None:
    """`x` in a type that it has, or had before it was cast."""
    if dtype_of(x) == dtype:
        return x
    cast = pieces.sole(x, "astype", uses=ANY)
    return cast.args[0] if cast is not None and dtype_of(cast.args[0]) == dtype else None


def _uncast(pieces: WholeOperators, expr: relax.Expr) -> relax.Expr:
    cast = pieces.sole(expr, "astype")
    return expr if cast is None else cast.args[0]


# The rows: a call -> the operator in its place, None if the call stays --------------------------


def _layer_norm(pieces: WholeOperators, call: relax.Call) -> relax.Expr | None:
    """A layer norm without scale and bias; the scale of an instance norm is a factor behind it."""
    normal = _normal(pieces, call)
    x = None if normal is None else _centred(pieces, normal.value, normal.axes)
    if normal is None or x is None:
        return None
    axes, order = normal.axes, None
    if axes == [1] and int(x.ty.ndim) == 4:
        x, axes, order = pieces.emit(relax.op.permute_dims(x, CHANNELS_LAST)), [3], CHANNELS_FIRST
    lines = _lines(pieces, x, axes)
    elements = math.prod(fixed_dims(lines)) if lines else 0
    if lines is None or elements < (FEWEST_CHANNELS if order else 0):
        return None
    made = _permuted(pieces, _normalised(x, lines, normal.epsilon), order)
    return made if normal.factor is None else relax.op.multiply(pieces.emit(made), normal.factor)


def _permuted(pieces: WholeOperators, value: relax.Expr, order: list[int] | None) -> relax.Expr:
    return value if order is None else relax.op.permute_dims(pieces.emit(value), order)


class Normed(NamedTuple):
    """A layer norm, the sizes of its lines, and the permutation behind it, if there is one."""

    call: relax.Call
    lines: tuple[Size, ...]
    order: list[int] | None


def _normed(pieces: WholeOperators, value: relax.Expr) -> Normed | None:
    """The layer norm that a value is; None if it is another value."""
    moved = pieces.sole(value, "permute_dims")
    order = None if moved is None else permutation_of(moved)
    call = pieces.sole(value if moved is None else moved.args[0], "nn.layer_norm")
    if call is None or order not in (None, CHANNELS_FIRST):
        return None
    lines = shape_of(call.args[1], pieces.symbols)
    return None if lines is None or (order and len(lines) != 1) else Normed(call, lines, order)


def _for_line(
    pieces: WholeOperators, operand: relax.Expr, normed: Normed, dtype: str
) -> relax.Expr | None:
    """A scale or bias of a layer norm in the shape of its lines; None if it is another operand."""
    if normed.order is None:
        return _per_line(pieces, operand, normed.lines, dtype)
    found = _per_line(pieces, operand, (*normed.lines, 1, 1), dtype)
    array = None if found is None else constant(found)
    return None if array is None else make_constant(array.reshape(-1))


def _with_scale(pieces: WholeOperators, call: relax.Call) -> relax.Expr | None:
    """A layer norm without scale and bias, times a scale; it may be cast to f16 between."""
    dtype = dtype_of(call)
    for value, operand in _orders(call):
        normed = _normed(pieces, _uncast(pieces, value))
        if normed is None or normed.call.attrs.scale or normed.call.attrs.center:
            continue
        x = _narrow(pieces, normed.call.args[0], dtype)
        scale = _for_line(pieces, operand, normed, dtype)
        if x is not None and scale is not None:
            made = _normalised(x, normed.lines, float(normed.call.attrs.epsilon), scale)
            return _permuted(pieces, made, normed.order)
    return None


def _with_bias(pieces: WholeOperators, call: relax.Call) -> relax.Expr | None:
    """A layer norm without bias, plus a bias."""
    for value, operand in _orders(call):
        normed = _normed(pieces, value)
        if normed is None or normed.call.attrs.center:
            continue
        if pieces.number(operand) == 0 and value.ty == call.ty:
            return value
        bias = _for_line(pieces, operand, normed, dtype_of(call))
        if bias is not None:
            x, scale, _ = normed.call.args
            given = scale if normed.call.attrs.scale else None
            made = _normalised(x, normed.lines, float(normed.call.attrs.epsilon), given, bias)
            return _permuted(pieces, made, normed.order)
    return None


def _folded_layer_norm(pieces: WholeOperators, call: relax.Call) -> relax.Expr | None:
    """``x * k + (b - mean * k)`` with ``k = g / sqrt(..)``, as TensorFlow's exporter has it."""
    for product, moved in _orders(call):
        times, less = pieces.sole(product, "multiply"), pieces.sole(moved, "subtract")
        if times is None or less is None:
            continue
        bias, shift = less.args
        for x, factor in _orders(times):
            scaled = pieces.sole(factor, "multiply", uses=2)
            shifted = pieces.sole(shift, "multiply")
            if scaled is None or shifted is None:
                continue
            means = [mean for mean, k in _orders(shifted) if k.same_as(factor)]
            for inverse, scale in _orders(scaled):
                made = _from_folded(pieces, x, means, inverse, scale, bias)
                if made is not None:
                    return made
    return None


def _from_folded(
    pieces: WholeOperators,
    x: relax.Expr,
    means: list[relax.Expr],
    inverse: relax.Expr,
    scale: relax.Expr,
    bias: relax.Expr,
) -> relax.Expr | None:
    dtype = dtype_of(x)
    root = _power(pieces, inverse, dtype)
    if root is None or root.exponent != -0.5 or root.factor is not None:
        return None
    square = _mean_square(pieces, root.base, dtype)
    if square is None or _centred(pieces, square.value, square.axes) is None:
        return None
    difference = bound(pieces, square.value)
    lines = _lines(pieces, x, square.axes)
    if not lines or not difference.args[0].same_as(x):
        return None
    given = [_per_line(pieces, operand, lines, dtype) for operand in (scale, bias)]
    if None in given or not any(pieces.are_equal(difference.args[1], mean) for mean in means):
        return None
    return _normalised(x, lines, square.epsilon, *given)


def _rms_norm(pieces: WholeOperators, call: relax.Call) -> relax.Expr | None:
    """A value over the root of its mean square, times a scale; it may be cast to f16 between."""
    dtype = dtype_of(call)
    for value, operand in _orders(call):
        inner = pieces.sole(_uncast(pieces, value), "multiply", "divide")
        normal = _normal(pieces, inner) if inner is not None else None
        if normal is None or normal.factor is not None:
            continue
        x, lines = _narrow(pieces, normal.value, dtype), _lines(pieces, normal.value, normal.axes)
        scale = lines and _per_line(pieces, operand, lines, dtype)
        if x is not None and scale is not None:
            return relax.op.nn.rms_norm(x, scale, normal.axes, normal.epsilon)
    return None


def _less_largest(
    pieces: WholeOperators, expr: relax.Expr, axes: list[int], uses: int = 1
) -> relax.Expr | None:
    """What a value was before its largest element along one axis was subtracted."""
    call = pieces.sole(expr, "subtract", uses=uses)
    if call is None or len(axes) != 1:
        return None
    x, extreme = call.args
    largest = pieces.reduced(extreme, "max", uses=ANY)
    return x if largest is not None and largest.axes == axes and largest.of.same_as(x) else None


def _softmax(pieces: WholeOperators, call: relax.Call) -> relax.Expr | None:
    for value, other in _orders(call):
        if op_name(call) == "relax.multiply":
            inverse = pieces.sole(other, "divide")
            if inverse is None or pieces.number(inverse.args[0]) != 1:
                continue
            other = inverse.args[1]
        power, total = pieces.sole(value, "exp", uses=2), pieces.reduced(other, "sum")
        if power is None or total is None or not total.of.same_as(value):
            continue
        x = _less_largest(pieces, power.args[0], total.axes)
        if x is not None:
            return relax.op.nn.softmax(x, total.axes[0])
    return None


def _log_softmax(pieces: WholeOperators, call: relax.Call) -> relax.Expr | None:
    value, other = call.args
    log = pieces.sole(other, "log")
    total = None if log is None else pieces.reduced(log.args[0], "sum")
    power = None if total is None else pieces.sole(total.of, "exp")
    if total is None or power is None or not power.args[0].same_as(value):
        return None
    x = _less_largest(pieces, value, total.axes, uses=2)
    return None if x is None else relax.op.nn.log_softmax(x, total.axes[0])


Row = Callable[[WholeOperators, relax.Call], relax.Expr | None]
#: Functions that look at a call, by its operator, in their order.
ROWS: Mapping[str, tuple[Row, ...]] = {
    "relax.divide": (_softmax, _layer_norm),
    "relax.multiply": (_with_scale, _rms_norm, _softmax, _layer_norm),
    "relax.add": (_with_bias, _folded_layer_norm),
    "relax.subtract": (_log_softmax,),
}
