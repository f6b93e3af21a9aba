"""Quantised forms."""

from __future__ import annotations

import numpy as np

from tests.fuzz.data import F32, I8, I32, U8
from tests.fuzz.operators._common import broadcast_shape, often
from tests.fuzz.sketch import Sketch


def _scale(s: Sketch, shape=()) -> np.ndarray:
    exact = s.rng.chance(0.4)
    values = 2.0 ** s.rng.bits.integers(-5, 0, shape)
    return np.asarray(values if exact else values * s.rng.bits.uniform(0.7, 1.3, shape), np.float32)


def _zero(s: Sketch, dtype: np.dtype, shape=()) -> np.ndarray:
    if s.rng.chance(0.25):
        return np.zeros(shape, dtype)
    low, high = (0, 255) if dtype == U8 else (-128, 127)
    return np.asarray(s.rng.bits.integers(low, high + 1, shape), dtype)


def _parameters(s: Sketch, dtype: np.dtype, shape=(), run_time: float = 0.1) -> list[str]:
    return [s.give(_scale(s, shape), run_time), s.give(_zero(s, dtype, shape), run_time)]


def _bytes(s: Sketch, shape=None, rank=None) -> str:
    dtype = s.rng.one((U8, I8))
    return s.data((dtype,), rank=rank, shape=(lambda: shape) if shape else None,
                  fits=lambda a: shape is None or a.shape == tuple(shape))  # fmt: skip


@often(3)
def quantize(s: Sketch) -> None:
    if s.opset < 10:
        return
    x = s.data((F32,))
    shape = s.shape_of(x)
    if s.opset >= 13 and shape and s.rng.chance(0.4):
        axis = s.rng.below(len(shape))
        rows = _parameters(s, s.rng.one((U8, I8)), (shape[axis],))
        s.node("QuantizeLinear", [x, *rows], axis=axis - len(shape) if s.rng.chance(0.3) else axis)
    else:
        rows = _parameters(s, s.rng.one((U8, I8)))
        s.node("QuantizeLinear", [x, *(rows[:1] if s.rng.chance(0.2) else rows)])


@often(3)
def dequantize(s: Sketch) -> None:
    if s.opset < 10:
        return
    x = s.data((U8, I8, I32))
    dtype, shape = s.dtype_of(x), s.shape_of(x)
    if dtype == I32:
        s.node("DequantizeLinear", [x, s.give(_scale(s), 0.1)])
    elif s.opset >= 13 and shape and s.rng.chance(0.4):
        axis = s.rng.below(len(shape))
        s.node("DequantizeLinear", [x, *_parameters(s, dtype, (shape[axis],))], axis=axis)
    else:
        s.node("DequantizeLinear", [x, *_parameters(s, dtype)])


@often(2)
def dynamic_quantize(s: Sketch) -> None:
    if s.opset >= 11:
        s.node(
            "DynamicQuantizeLinear",
            [s.data((F32,), fits=lambda a: a.size > 0 and np.isfinite(a).all(), tame=True)],
            3,
        )


@often(3)
def qlinear_matmul(s: Sketch) -> None:
    if s.opset < 10:
        return
    a_shape = s.rng.shape(s.rng.between(2, 3), 1)
    b_shape = (a_shape[-1], s.rng.dim(1))
    a = _bytes(s, a_shape)
    b_type = s.rng.one((U8, I8)) if s.dtype_of(a) == U8 else I8
    b = s.give(s.rng.array(b_type, b_shape), 0.3)
    per = (b_shape[1],) if s.rng.chance(0.2) else ()
    rows = [
        *_parameters(s, s.dtype_of(a)),
        b,
        *_parameters(s, b_type, per),
        *_parameters(s, s.dtype_of(a)),
    ]
    s.node("QLinearMatMul", [a, *rows])


@often(3)
def integer_matmul(s: Sketch) -> None:
    if s.opset < 10:
        return
    a_shape = s.rng.shape(s.rng.between(2, 3), 1)
    a = _bytes(s, a_shape)
    b_type = s.rng.one((U8, I8))
    b = s.give(s.rng.array(b_type, (a_shape[-1], s.rng.dim(1))), 0.3)
    zeros = [s.give(_zero(s, s.dtype_of(a)), 0.1), s.give(_zero(s, b_type), 0.1)]
    s.node("MatMulInteger", [a, b, *zeros[: s.rng.below(3)]])


def _convolution(s: Sketch) -> tuple[str, np.ndarray, dict[str, object]]:
    c = s.rng.one((1, 2, 3, 4, 9, 18))
    x = _bytes(s, (s.rng.between(1, 2), c, s.rng.one((1, 3, 5, 6)), s.rng.one((1, 3, 4, 7))))
    group = s.rng.one([g for g in (1, 1, 2, c) if c % g == 0])
    kernel = [min(s.rng.between(1, 3), n) for n in s.shape_of(x)[2:]]
    out = group * s.rng.between(1, 3)
    attrs: dict[str, object] = {"group": group, "kernel_shape": kernel}
    if s.rng.chance(0.5):
        attrs["strides"] = [s.rng.between(1, 2) for _ in range(2)]
    if s.rng.chance(0.6):
        attrs["pads"] = [s.rng.between(0, k - 1) for k in (*kernel, *kernel)]
    w_type = s.rng.one((U8, I8)) if s.dtype_of(x) == U8 else I8
    return x, s.rng.array(w_type, (out, c // group, *kernel)), attrs


@often(3)
def qlinear_conv(s: Sketch) -> None:
    if s.opset < 10:
        return
    x, w, attrs = _convolution(s)
    out = len(w)
    zero = _zero(s, w.dtype) if w.dtype == U8 else np.int8(0)
    per = s.rng.chance(0.3)
    scale = _scale(s, (out,) if per else ())
    zeros = np.full(scale.shape, zero, w.dtype)
    bias = (
        s.give(s.rng.bits.integers(-500, 500, out).astype(np.int32), 0.1)
        if s.rng.chance(0.6)
        else None
    )
    rows = [*_parameters(s, s.dtype_of(x)), s.give(w, 0.15), s.give(scale, 0), s.give(zeros, 0)]
    s.node("QLinearConv", [x, *rows, *_parameters(s, s.dtype_of(x)), bias], **attrs)


@often(2)
def conv_integer(s: Sketch) -> None:
    if s.opset < 10:
        return
    x, w, attrs = _convolution(s)
    zeros = [s.give(_zero(s, s.dtype_of(x)), 0.1), s.give(_zero(s, w.dtype), 0.1)]
    s.node("ConvInteger", [x, s.give(w, 0.2), *zeros[: s.rng.below(3)]], **attrs)


@often(3)
def qdq(s: Sketch) -> None:
    """A float operator between the quantised forms, as tools write it."""
    if s.opset < 13:
        return
    x = s.data((F32,), fits=lambda a: a.ndim > 0, tame=True)
    dtype = s.rng.one((U8, I8))
    rows = _parameters(s, dtype, (), 0)
    q = s.node("QuantizeLinear", [x, *rows])
    d = q and s.node("DequantizeLinear", [q[0], *rows])
    if not d:
        return
    op = s.rng.one(("Relu", "Sigmoid", "Add", "Mul", "MatMul", "Concat", "MaxPool", "ReduceMean"))
    attrs: dict[str, object] = {}
    operands = [d[0]]
    if op in ("Add", "Mul"):
        operands.append(
            s.give(s.rng.array(F32, broadcast_shape(s.rng, s.shape_of(x)), tame=True), 0.2)
        )
    elif op == "MatMul":
        operands.append(
            s.give(s.rng.array(F32, (s.shape_of(x)[-1], s.rng.between(1, 4)), tame=True), 0)
        )
    elif op == "Concat":
        operands.append(d[0])
        attrs["axis"] = 0
    elif op == "MaxPool":
        attrs["kernel_shape"] = [1] * (len(s.shape_of(x)) - 2)
    y = s.node(op, operands, **attrs)
    q = y and s.node("QuantizeLinear", [y[0], *_parameters(s, dtype, (), 0)])
    if q:
        s.node("DequantizeLinear", [q[0], *_parameters(s, dtype, (), 0)])


@often(4)
def qdq_layer(s: Sketch) -> None:
    """A convolution or a product between the quantised forms: constant weights, a bias, a limit."""
    if s.opset < 13:
        return
    if s.rng.chance(0.6):
        x, w, attrs = _convolution(s)
        op, axis, shape = "Conv", 0, (1, -1, 1, 1)
    else:
        x = _bytes(s, s.rng.shape(s.rng.between(2, 3), 1))
        w = s.rng.array(s.rng.one((U8, I8)), (s.shape_of(x)[-1], s.rng.one((1, 5, 17, 30))))
        op, axis, shape, attrs = "MatMul", 1, (-1,), {}
    out = w.shape[axis]
    steps = _scale(s, (out,) if s.rng.chance(0.5) else ())
    zeros = np.zeros(steps.shape, w.dtype) if s.rng.chance(0.6) else _zero(s, w.dtype, steps.shape)
    rows = _parameters(s, s.dtype_of(x), (), 0)
    d = s.node("DequantizeLinear", [x, *rows])
    dw = s.node("DequantizeLinear", [s.give(w, 0), s.give(steps, 0), s.give(zeros, 0)], axis=axis)
    y = d and dw and s.node(op, [d[0], dw[0]], **attrs)
    if y and s.rng.chance(0.6):
        scale = s.values[rows[0]] * steps if s.rng.chance(0.7) else _scale(s, steps.shape)
        bias = s.rng.bits.integers(-500, 500, out).astype(np.int32)
        point = np.zeros(scale.shape, np.int32)
        b = s.node("DequantizeLinear", [s.give(a, 0) for a in (bias, scale, point)], axis=0)
        sizes = s.give(np.array(shape, np.int64), 0)
        b = b and s.node("Reshape", [b[0], sizes])
        y = b and s.node("Add", [y[0], b[0]])
    if y and s.rng.chance(0.5):
        limit = s.rng.one(("Relu", "Clip", "HardSwish", "Sigmoid"))
        if limit == "Clip":
            ends = [s.give(np.asarray(v, np.float32), 0) for v in (-1.5, 6.0)]
            y = s.node("Clip", [y[0], *ends])
        elif limit != "HardSwish" or s.opset >= 14:
            y = s.node(limit, [y[0]])
    if y and s.rng.chance(0.8):
        s.node("QuantizeLinear", [y[0], *_parameters(s, s.rng.one((U8, I8)), (), 0)])


@often(3)
def microsoft(s: Sketch) -> None:
    """The quantised operators of ONNX Runtime's own domain."""
    op = s.rng.one(("QLinearAdd", "QLinearMul", "QLinearLeakyRelu", "QLinearSigmoid"))
    x = _bytes(s, s.rng.shape(s.rng.between(1, 4), 1))
    dtype = s.dtype_of(x)
    rows = [x, *_parameters(s, dtype)]
    if op in ("QLinearAdd", "QLinearMul"):
        y = s.give(s.rng.array(dtype, broadcast_shape(s.rng, s.shape_of(x))), 0.5)
        rows += [y, *_parameters(s, dtype)]
    attrs = {"alpha": 0.25} if op == "QLinearLeakyRelu" else {}
    s.node(op, [*rows, *_parameters(s, dtype)], domain="com.microsoft", **attrs)
