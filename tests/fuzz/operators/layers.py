"""A convolution or a product, and what follows it in real networks: what fusion looks for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fuzz.data import F16, F32, F64
from tests.fuzz.operators._common import ints, often, output
from tests.fuzz.operators.windows import _window
from tests.fuzz.sketch import Sketch, Unfit

_PLAIN = "Relu Sigmoid Tanh HardSwish Abs Neg Sqrt Exp Softplus Mish Floor Reciprocal".split()
_SINCE = {"HardSwish": 14, "Mish": 18}
_WITH_NUMBERS = {"LeakyRelu": ("alpha",), "Elu": ("alpha",), "HardSigmoid": ("alpha", "beta")}


def _channels(s: Sketch, y: str, axis: int) -> tuple[int, ...]:
    """The shape of a constant with a number for each channel, or one for all."""
    shape = s.shape_of(y)
    if s.rng.chance(0.2):
        return s.rng.one(((), (1,)))
    whole = [d if k == axis else 1 for k, d in enumerate(shape)]
    return tuple(whole[axis if s.rng.chance(0.5) else 0 :])


def _numbers(s: Sketch, y: str, axis: int) -> str:
    """Numbers for the channels: now and then of very different sizes, or 0."""
    shape, dtype = _channels(s, y, axis), s.dtype_of(y)
    values = s.rng.array(dtype, shape, tame=True)
    if s.rng.chance(0.12) and dtype != F16:
        values = values * 10.0 ** s.rng.bits.integers(-40, 25, shape)
    if s.rng.chance(0.1):
        values = np.where(s.rng.bits.random(shape) < 0.3, 0, values)
    return s.give(np.asarray(values).astype(dtype), 0.1)


def _scale(s: Sketch, y: str, axis: int) -> str:
    op = s.rng.one(("Mul", "Mul", "Add", "Add", "Sub", "Div", "Max", "Min"))
    return output(s.node(op, s.rng.shuffled([y, _numbers(s, y, axis)])))


def _normalised(s: Sketch, y: str, axis: int) -> str:
    shape, dtype = s.shape_of(y), s.dtype_of(y)
    if axis != 1 or dtype == F16:
        raise Unfit
    rows = [s.rng.array(dtype, shape[1:2], tame=True) for _ in range(4)]
    rows[3] = np.abs(rows[3])
    if s.rng.chance(0.8):
        rows[3] += dtype.type(0.1)
    return output(s.node("BatchNormalization", [y, *(s.give(r, 0.05) for r in rows)],
                        epsilon=s.rng.one((None, 1e-3))))  # fmt: skip


def _activated(s: Sketch, y: str, axis: int) -> str:
    op = s.rng.one((*_PLAIN, *_WITH_NUMBERS, "Clip", "PRelu", "SiLU"))
    if s.opset < _SINCE.get(op, 0):
        raise Unfit
    if op == "SiLU":
        gate = output(s.node(s.rng.one(("Sigmoid", "HardSigmoid", "Tanh")), [y]))
        return output(s.node("Mul", s.rng.shuffled([y, gate])))
    if op == "Clip" and s.opset < 11:
        return output(s.node(op, [y], min=0.0, max=6.0))
    if op == "Clip":
        low, high = (s.give(np.array(v, s.dtype_of(y)), 0.1) for v in (s.rng.one((0, -1)), 6))
        return output(s.node(op, [y, *s.rng.one(([low, high], [low], [None, high]))]))
    if op == "PRelu":
        return output(s.node(op, [y, _numbers(s, y, axis)]))
    numbers = {k: s.rng.one((0.0, 0.2, 1.0, -0.5)) for k in s.rng.some(_WITH_NUMBERS.get(op, ()))}
    return output(s.node(op, [y], **numbers))


def _added(s: Sketch, y: str, axis: int) -> str:
    """A residual: a value of the same shape."""
    shape, dtype = s.shape_of(y), s.dtype_of(y)
    other = s.data((dtype,), fits=lambda a: a.shape == shape, shape=lambda: shape, tame=True)
    return output(s.node(s.rng.one(("Add", "Add", "Mul", "Sub")), s.rng.shuffled([y, other])))


def _moved(s: Sketch, y: str, axis: int) -> str:
    shape = s.shape_of(y)
    op = s.rng.one(("Transpose", "Flatten", "Concat", "Slice", "Reshape", "Pad", "Split"))
    if op == "Transpose":
        return output(s.node(op, [y], perm=s.rng.shuffled(range(len(shape)))))
    if op == "Flatten":
        return output(s.node(op, [y], axis=s.rng.below(len(shape) + 1)))
    if op == "Concat":
        return output(s.node(op, [y] * s.rng.between(1, 2), axis=s.rng.below(len(shape))))
    if op == "Reshape":
        return output(s.node(op, [y, s.give(ints(*s.rng.one(((0, -1), (-1,), (1, 0, -1)))), 0.1)]))
    if s.opset < 13 or s.dtype_of(y) == F16:
        raise Unfit
    if op == "Pad":
        widths = [s.rng.below(2) for _ in range(2 * len(shape))]
        return output(s.node(op, [y, s.give(ints(*widths), 0.1)]))
    k = s.rng.below(len(shape))
    if op == "Split":
        first = s.rng.between(0, shape[k])
        sizes = s.give(ints(first, shape[k] - first), 0.1)
        parts = s.node(op, [y, sizes], 2, axis=k)
        return s.rng.one(parts) if parts else output(None)
    ends = [s.give(ints(v), 0.1) for v in (s.rng.below(2), shape[k], k)]
    return output(s.node(op, [y, *ends]))


def _reduced(s: Sketch, y: str, axis: int) -> str:
    rank = len(s.shape_of(y))
    if rank == 4 and s.rng.chance(0.6):
        op = s.rng.one(("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"))
        return output(s.node(op, [y], **({} if op[0] == "G" else {"kernel_shape": [1, 1]})))
    op = s.rng.one(("ReduceMean", "ReduceMax"))
    axes = s.rng.some(range(rank), 1)
    if s.opset >= 18:
        return output(s.node(op, [y, s.give(ints(*axes), 0.1)], keepdims=s.rng.below(2)))
    return output(s.node(op, [y], axes=axes, keepdims=s.rng.below(2)))


_STEPS: tuple[Callable[[Sketch, str, int], str], ...] = (
    _scale, _scale, _scale, _normalised, _activated, _activated, _activated, _added, _moved,
    _reduced,
)  # fmt: skip


def _window_layer(s: Sketch) -> str:
    """A convolution, or one that is transposed."""
    dtype = s.rng.one((F32, F32, F32, F32, F32, F16, F64))
    rank = s.rng.one((1, 2, 2, 2, 2, 3))
    c = s.rng.one((1, 2, 3, 4, 8, 9))
    dims = (s.rng.one((1, 1, 2)), c, *(s.rng.one((1, 3, 4, 5, 7, 8)) for _ in range(rank)))
    x = s.data((dtype,), fits=lambda a: a.shape == dims, shape=lambda: dims, tame=True)
    for _ in range(s.rng.between(1, 2) if s.rng.chance(0.2) else 0):
        x = s.rng.one((_scale, _normalised))(s, x, 1)
        if s.shape_of(x) != dims:
            raise Unfit
    attrs = _window(s, dims[2:], rank)
    group = s.rng.one([g for g in (1, 1, 2, c, c) if c % g == 0])
    each = s.rng.one((1, 1, 2, 3, 5))
    transposed = s.rng.chance(0.2) and dtype == F32
    shape = (c, each) if transposed else (group * each, c // group)
    w = s.give(s.rng.array(dtype, (*shape, *attrs["kernel_shape"]), tame=True), 0.1)  # type: ignore[misc]
    b = s.give(s.rng.array(dtype, (group * each,), tame=True), 0.1)
    op = "ConvTranspose" if transposed else "Conv"
    return output(s.node(op, [x, w, b if s.rng.chance(0.5) else None], group=group, **attrs))


def _product(s: Sketch) -> str:
    dtype = s.rng.one((F32, F32, F32, F64))
    x = s.data((dtype,), fits=lambda a: 2 <= a.ndim <= 4 and 0 not in a.shape, tame=True,
               shape=lambda: s.rng.shape(s.rng.between(2, 4), 1))  # fmt: skip
    n = s.rng.one((1, 2, 3, 5, 8, 17))
    w = s.give(s.rng.array(dtype, (s.shape_of(x)[-1], n), tame=True), 0.1)
    if len(s.shape_of(x)) == 2 and s.rng.chance(0.5):
        b = s.give(s.rng.array(dtype, (n,), tame=True), 0.1)
        return output(s.node("Gemm", [x, w, b], alpha=s.rng.one((None, 0.5))))
    return output(s.node("MatMul", [x, w]))


@often(10)
def layer(s: Sketch) -> None:
    axis = 1
    if s.rng.chance(0.7):
        y = _window_layer(s)
    else:
        y = _product(s)
        axis = len(s.shape_of(y)) - 1
    rank = len(s.shape_of(y))
    for _ in range(s.rng.between(1, 5)):
        y = s.rng.one(_STEPS)(s, y, axis)
        if len(s.shape_of(y)) != rank:
            return
