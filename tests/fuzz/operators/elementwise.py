"""Operators that compute element by element."""

from __future__ import annotations

import numpy as np

from tests.fuzz.data import (
    ANY,
    BOOL,
    F16,
    F32,
    FLOATS,
    I8,
    I16,
    I32,
    I64,
    INTS,
    NUMBERS,
    U8,
    U16,
    U32,
    U64,
)
from tests.fuzz.operators._common import often, partner
from tests.fuzz.sketch import Sketch

_UNARY = {
    **dict.fromkeys(
        "Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor HardSwish Log Mish "
        "Reciprocal Round Sigmoid Sin Sinh Softplus Softsign Sqrt Tan Tanh IsNaN Identity".split(),
        FLOATS,
    ),
    "Abs": NUMBERS,
    "Neg": (*FLOATS, I8, I16, I32, I64),
    "Sign": NUMBERS,
    "Relu": (*FLOATS, *FLOATS, I8, I16, I32, I64),
    "Not": (BOOL,),
    "BitwiseNot": INTS,
}
#: Operator -> its float attributes.
_WITH_NUMBERS = {
    "Elu": ("alpha",),
    "Celu": ("alpha",),
    "LeakyRelu": ("alpha",),
    "ThresholdedRelu": ("alpha",),
    "Selu": ("alpha", "gamma"),
    "HardSigmoid": ("alpha", "beta"),
    "Shrink": ("bias", "lambd"),
}
_COMPARE = {
    "Equal": ANY,
    "Less": NUMBERS,
    "Greater": NUMBERS,
    "LessOrEqual": NUMBERS,
    "GreaterOrEqual": NUMBERS,
    "And": (BOOL,),
    "Or": (BOOL,),
    "Xor": (BOOL,),
}


@often(12)
def unary(s: Sketch) -> None:
    op = s.rng.one(sorted(_UNARY))
    s.node(op, [s.data(_UNARY[op])])


@often(3)
def with_numbers(s: Sketch) -> None:
    op = s.rng.one(sorted(_WITH_NUMBERS))
    numbers = {
        key: float(np.float32(s.rng.one((0.0, 0.25, 1.0, 2.0, 0.3, -0.5))))
        for key in s.rng.some(_WITH_NUMBERS[op])
    }
    # The exponential ones lose digits near 0, in ONNX Runtime other ones for f64 than we do.
    dtypes = (F32, F32, F16) if op in ("Celu", "Elu", "Selu") else FLOATS
    s.node(op, [s.data((F32,) if op == "Celu" else dtypes)], **numbers)


@often(2)
def gelu(s: Sketch) -> None:
    if s.opset < 20:
        return
    s.node("Gelu", [s.data((F32, F32, F16))], approximate=s.rng.one((None, "none", "tanh")))


@often(10)
def arithmetic(s: Sketch) -> None:
    op = s.rng.one(("Add", "Sub", "Mul", "Div"))
    x = s.data(NUMBERS)
    y = partner(s, x)
    if op == "Div" and s.dtype_of(x).kind in "iu" and (s.values[y] == 0).any():
        values = s.rng.array(s.dtype_of(x), s.shape_of(y), tame=True)
        y = s.give(np.where(values == 0, 3, values).astype(values.dtype))
        if (s.values[x] == np.iinfo(s.dtype_of(x)).min).any() and (s.values[y] == -1).any():
            return
    operands = [x, y] if op == "Div" or s.rng.chance(0.5) else [y, x]
    s.node(op, operands)


@often(3)
def power(s: Sketch) -> None:
    x = s.data((*FLOATS, I32, I64))
    kinds = (s.dtype_of(x),) if s.rng.chance(0.7) else (F32, I32, I64)
    if s.rng.chance(0.5):
        value = s.rng.one((2, 3, 0, 1, 0.5, -1, -2, 2.5))
        y = s.give(np.asarray(value).astype(s.rng.one(kinds)))
    else:
        y = partner(s, x, kinds, tame=True)
    if s.dtype_of(y).kind in "iu" and s.dtype_of(x).kind in "iu":
        y = s.give(np.abs(s.values[y]) % 4)
    s.node("Pow", [x, y])


@often(2)
def mod(s: Sketch) -> None:
    x = s.data(NUMBERS)
    float_ = s.dtype_of(x).kind == "f"
    y = partner(s, x)
    if not float_:
        values = s.rng.array(s.dtype_of(x), s.shape_of(y), tame=True)
        y = s.give(np.where(values == 0, 5, values).astype(values.dtype))
    s.node("Mod", [x, y], fmod=1 if float_ and s.opset < 28 or s.rng.chance(0.3) else None)


@often(5)
def compare(s: Sketch) -> None:
    op = s.rng.one(sorted(_COMPARE))
    x = s.data(_COMPARE[op])
    s.node(op, [x, partner(s, x)])


@often(2)
def bits(s: Sketch) -> None:
    op = s.rng.one(("BitwiseAnd", "BitwiseOr", "BitwiseXor"))
    x = s.data(INTS)
    s.node(op, [x, partner(s, x)])


def bit_shift(s: Sketch) -> None:
    x = s.data((U8, U16, U32, U64))
    amount = s.rng.array(s.dtype_of(x), s.shape_of(x), tame=True) % (8 * s.dtype_of(x).itemsize)
    s.node("BitShift", [x, s.give(amount)], direction=s.rng.one(("LEFT", "RIGHT")))


@often(4)
def variadic(s: Sketch) -> None:
    op = s.rng.one(("Max", "Min", "Sum", "Mean"))
    x = s.data(NUMBERS if op in ("Max", "Min") else FLOATS)
    others = [partner(s, x) for _ in range(s.rng.one((0, 1, 1, 1, 2, 3)))]
    s.node(op, [x, *others])


@often(3)
def where(s: Sketch) -> None:
    x = s.data(ANY)
    s.node("Where", [partner(s, x, (BOOL,)), x, partner(s, x)])


@often(3)
def clip(s: Sketch) -> None:
    if s.opset < 11:
        low, high = sorted(float(v) for v in s.rng.bits.normal(size=2).astype(np.float32))
        limits = {k: v for k, v in {"min": low, "max": high}.items() if s.rng.chance(0.8)}
        s.node("Clip", [s.data((F32,))], **limits)
        return
    x = s.data(NUMBERS if s.opset >= 12 else FLOATS)
    pair = np.sort(s.rng.array(s.dtype_of(x), (2,), tame=True))
    if s.rng.chance(0.1):
        pair = pair[::-1]
    limits = [s.give(pair[k].reshape(())) if s.rng.chance(0.8) else None for k in range(2)]
    s.node("Clip", [x, *limits])


@often(5)
def cast(s: Sketch) -> None:
    x = s.data(ANY)
    to = s.rng.one(ANY)
    if s.dtype_of(x).kind == "f" and to.kind in "iu":
        # What a float becomes that does not fit is not said.
        info = np.iinfo(to)
        values = s.values[x].astype(np.float64)
        if not np.isfinite(values).all() or (values < info.min).any() or (values > info.max).any():
            x = s.give(
                s.rng.array(s.dtype_of(x), s.shape_of(x), tame=True) ** (2 if info.min == 0 else 1)
            )
    from onnx import helper

    s.node("Cast", [x], to=int(helper.np_dtype_to_tensor_dtype(to)))


def cast_like(s: Sketch) -> None:
    if s.opset < 15:
        return
    x = s.data((*FLOATS, BOOL, I32, I64), tame=True)
    if s.dtype_of(x).kind == "f":
        like = s.data((*FLOATS, BOOL))
    else:
        like = s.data((*FLOATS, BOOL, I64))
    s.node("CastLike", [x, like])


def is_inf(s: Sketch) -> None:
    flags = {k: s.rng.below(2) for k in s.rng.some(("detect_negative", "detect_positive"))}
    s.node("IsInf", [s.data(FLOATS)], **flags)


def prelu(s: Sketch) -> None:
    x = s.data(FLOATS)
    shape = tuple(1 if s.rng.chance(0.4) else d for d in s.shape_of(x))
    slope = shape[s.rng.below(len(shape) + 1) :]
    s.node("PRelu", [x, s.give(s.rng.array(s.dtype_of(x), slope))])


def dropout(s: Sketch) -> None:
    x = s.data(FLOATS)
    outputs = s.rng.one(([True], [True, True]))
    if s.opset < 12:
        # What the mask is where nothing is dropped was not said then.
        s.node("Dropout", [x], ratio=s.rng.one((None, 0.5)))
    else:
        ratio = s.give(np.float32(0.3)) if s.rng.chance(0.5) else None
        training = s.give(np.array(False), 0) if s.rng.chance(0.3) else None
        s.node("Dropout", [x, ratio, training], outputs)
