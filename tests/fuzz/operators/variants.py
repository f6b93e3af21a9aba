"""What the other generators leave at one value: element types, ranks, rare attributes."""

from __future__ import annotations

import numpy as np

from tests.fuzz.data import BF16, F16, F32, F64, I8, I16, U8, U16
from tests.fuzz.operators._common import axis_of, ints, often
from tests.fuzz.operators.quantised import _scale, _zero
from tests.fuzz.operators.windows import _window
from tests.fuzz.sketch import Sketch


def _given(s: Sketch, dtype: np.dtype, *shape: int, run_time: float = 0.85) -> str:
    return s.give(s.rng.array(dtype, shape, tame=True), run_time)


def _dims(s: Sketch, rank: int, channels: int | None = None) -> tuple[int, ...]:
    sizes = [s.rng.one((1, 2, 3, 4, 5, 7)) for _ in range(rank)]
    return (s.rng.between(1, 2), channels or s.rng.between(1, 4), *sizes)


@often(3)
def pools(s: Sketch) -> None:
    op = s.rng.one(("MaxPool", "MaxPool", "AveragePool", "LpPool"))
    kinds = {"MaxPool": (F16, F64, I8, U8) if s.opset >= 12 else (F16, F64)}
    # LpPool of other types only the reference has, which counts the padding as it averages.
    dtype = F32 if op == "LpPool" else s.rng.one(kinds.get(op, (F16, F64)))
    rank = s.rng.one((1, 2, 2, 3))
    dims = _dims(s, rank)
    attrs = _window(s, dims[2:], rank, pooling=True)
    since = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    if s.opset >= since and s.rng.chance(0.5):
        attrs["dilations"] = [s.rng.between(1, 2) for _ in range(rank)]
        attrs["ceil_mode"] = s.rng.below(2)
    if op == "AveragePool":
        attrs["count_include_pad"] = s.rng.one((None, 1))
    s.node(op, [s.give(s.rng.array(dtype, dims, tame=True), 0.9)], **attrs)


@often(2)
def convolutions(s: Sketch) -> None:
    dtype = s.rng.one((F64, F16, F64))
    rank = s.rng.one((1, 2, 2, 3))
    dims = _dims(s, rank, s.rng.one((1, 2, 4)))
    attrs = _window(s, dims[2:], rank)
    group = s.rng.one([g for g in (1, 2, dims[1]) if dims[1] % g == 0])
    out = group * s.rng.between(1, 2)
    w = _given(s, dtype, out, dims[1] // group, *attrs["kernel_shape"], run_time=0.3)
    b = _given(s, dtype, out, run_time=0.3) if s.rng.chance(0.5) else None
    s.node("Conv", [_given(s, dtype, *dims), w, b], group=group, **attrs)


@often(2)
def transposed(s: Sketch) -> None:
    rank = s.rng.one((1, 2, 2, 3))
    dims = _dims(s, rank, s.rng.one((1, 2, 4)))
    kernel = [s.rng.between(1, 3) for _ in range(rank)]
    strides = [s.rng.between(1, 3) for _ in range(rank)]
    dilations = [s.rng.between(1, 2) for _ in range(rank)]
    group = s.rng.one([g for g in (1, 2, dims[1]) if dims[1] % g == 0])
    attrs: dict[str, object] = {"kernel_shape": kernel, "strides": strides, "dilations": dilations}
    kind = s.rng.below(4)
    if kind == 0:
        rows = zip(dims[2:], strides, kernel, dilations, strict=True)
        full = [(d - 1) * t + (k - 1) * e + 1 for d, t, k, e in rows]
        attrs["output_shape"] = [max(1, n - s.rng.below(3)) for n in full]
        if s.rng.chance(0.5):
            attrs["auto_pad"] = s.rng.one(("SAME_UPPER", "SAME_LOWER"))
    elif kind == 1:
        attrs["auto_pad"] = s.rng.one(("SAME_UPPER", "SAME_LOWER", "VALID"))
        attrs.pop("dilations")
    elif kind == 2:
        attrs["pads"] = [s.rng.below(2) for _ in range(2 * rank)]
        attrs["output_padding"] = [s.rng.below(t) for t in strides]
    w = _given(s, F32, dims[1], s.rng.between(1, 2), *kernel, run_time=0.3)
    s.node("ConvTranspose", [_given(s, F32, *dims), w], group=group, **attrs)


@often(3)
def normalisations(s: Sketch) -> None:
    op = s.rng.one(("BatchNormalization", "InstanceNormalization", "LayerNormalization",
                    "RMSNormalization", "GroupNormalization", "MeanVarianceNormalization",
                    "LpNormalization", "LRN"))  # fmt: skip
    since = {"LayerNormalization": 17, "RMSNormalization": 23, "GroupNormalization": 18}
    if s.opset < since.get(op, 0):
        return
    dtype = s.rng.one((F16, F64, F32))
    rank = s.rng.between(1, 3)
    dims = _dims(s, rank)
    x = _given(s, dtype, *dims)
    c = dims[1]
    if op in ("BatchNormalization", "InstanceNormalization"):
        rows = [_given(s, dtype, c, run_time=0.4) for _ in range(2)]
        if op[0] == "B":
            rows.append(_given(s, dtype, c, run_time=0.4))
            var = np.abs(s.rng.array(dtype, (c,), tame=True)) + dtype.type(0.25)
            rows.append(s.give(var, 0.4))
        s.node(op, [x, *rows], epsilon=s.rng.one((None, 1e-2)))
    elif op in ("LayerNormalization", "RMSNormalization"):
        axis = axis_of(s, rank + 2)
        tail = dims[axis % (rank + 2) :]
        # The scale may be stretched: a part of the dims, some of them 1.
        kept = tuple(1 if s.rng.chance(0.4) else d for d in tail)
        kept = kept[s.rng.below(len(kept) + 1) :] if s.rng.chance(0.3) else kept
        rows = [_given(s, dtype, *kept, run_time=0.4)]
        if op[0] == "L" and s.rng.chance(0.5):
            rows.append(_given(s, dtype, *kept, run_time=0.4))
        s.node(op, [x, *rows], axis=axis, epsilon=s.rng.one((None, 1e-2)),
               stash_type=s.rng.one((None, 1)))  # fmt: skip
    elif op == "GroupNormalization":
        groups = s.rng.one([g for g in (1, 2, c) if c % g == 0])
        n = groups if s.opset < 21 else c
        rows = [_given(s, dtype, n, run_time=0.4) for _ in range(2)]
        s.node(op, [x, *rows], num_groups=groups)
    elif op == "MeanVarianceNormalization":
        axes = s.rng.some(range(rank + 2), 1)
        axes = [a - rank - 2 if s.rng.chance(0.3) and s.opset >= 13 else a for a in axes]
        s.node(op, [x], axes=axes)
    elif op == "LpNormalization":
        s.node(op, [x], axis=axis_of(s, rank + 2), p=s.rng.one((None, 1, 2)))
    else:
        s.node(op, [x], size=s.rng.one((1, 3, 4)), alpha=0.01)


@often(3)
def resizes(s: Sketch) -> None:
    if s.opset < 11:
        return
    rank = s.rng.one((1, 2, 2, 3))
    dims = _dims(s, rank)
    # Of f64 only the reference has it, whose scales are f64 where ONNX's are f32.
    dtype = s.rng.one((F32, F32, F16, U8))
    x = s.give(s.rng.array(dtype, dims, tame=True), 0.9)
    mode = s.rng.one(("nearest", "linear", "cubic"))
    attrs: dict[str, object] = {"mode": mode}
    used = list(range(len(dims)))
    if s.opset >= 18 and s.rng.chance(0.6):
        used = s.rng.shuffled(s.rng.some(range(2, len(dims)), 1))
        attrs["axes"] = [a - len(dims) if s.rng.chance(0.4) else a for a in used]
    roi = s.give(np.zeros(0, dtype if dtype.kind == "f" else F32), 0) if s.opset < 13 else None
    if s.rng.chance(0.5) and dtype == F32:
        attrs["coordinate_transformation_mode"] = "tf_crop_and_resize"
        starts = [0.0 if a < 2 else s.rng.one((0.0, 0.25, -0.2)) for a in used]
        ends = [1.0 if a < 2 else s.rng.one((1.0, 0.75, 1.25)) for a in used]
        roi = s.give(np.array([*starts, *ends], F32), 0.4)
        attrs["extrapolation_value"] = s.rng.one((None, 10.0))
    if mode == "nearest":
        attrs["nearest_mode"] = s.rng.one((None, "floor", "ceil", "round_prefer_ceil"))
    if mode != "nearest" and s.opset >= 18 and s.rng.chance(0.2):
        attrs["antialias"] = 1
    scales = [1.0 if a < 2 else s.rng.one((2.0, 0.5, 1.5, 0.4)) for a in used]
    if s.rng.chance(0.4):
        operands = [x, roi, s.give(np.array(scales, np.float32), 0.25)]
    else:
        sizes = [max(1, int(dims[a] * v)) for a, v in zip(used, scales, strict=True)]
        empty = s.give(np.zeros(0, np.float32), 0) if s.opset < 13 else None
        operands = [x, roi, empty, s.give(ints(*sizes), 0.3)]
        if s.opset >= 18 and "axes" in attrs and s.rng.chance(0.5):
            attrs["keep_aspect_ratio_policy"] = s.rng.one(("not_larger", "not_smaller"))
    s.node("Resize", operands, **attrs)


def samples(s: Sketch) -> None:
    """GridSample and AffineGrid of volumes, and of f64."""
    if s.opset < 20:
        return
    dtype = s.rng.one((F32, F64))
    n, c = s.rng.between(1, 2), s.rng.between(1, 2)
    sizes = [s.rng.between(1, 4) for _ in range(3)]
    align = s.rng.one((None, 0, 1))
    if s.rng.chance(0.4):
        theta = _given(s, F32, n, 3, 4)
        s.node("AffineGrid", [theta, s.give(ints(n, c, *sizes), 0.4)], align_corners=align)
        return
    rank = s.rng.one((2, 3, 3))
    places = (s.rng.bits.random((n, *sizes[:rank], rank)) * 2.6 - 1.3).astype(dtype)
    modes = (None, "linear", "nearest", *(["cubic"] if rank == 2 else []))
    s.node(
        "GridSample", [_given(s, dtype, n, c, *sizes[:rank]), s.give(places, 0.8)],
        mode=s.rng.one(modes), align_corners=align,
        padding_mode=s.rng.one((None, "zeros", "border", "reflection")),
    )  # fmt: skip


@often(3)
def quantisers(s: Sketch) -> None:
    if s.opset < 19:
        return
    dtype = s.rng.one((U8, I8, U16, I16) if s.opset >= 21 else (U8, I8))
    shape = list(s.rng.shape(s.rng.between(1, 4), 1))
    axis, size = s.rng.below(len(shape)), None
    dims: list[int] = [shape[axis]]
    kind = s.rng.below(3)
    if kind == 0:
        dims = []
    elif kind == 1 and s.opset >= 21:
        size = s.rng.between(1, 3)
        dims = [-(-d // size) if k == axis else d for k, d in enumerate(shape)]
    real = s.rng.one((F32, F32, F16))
    scale = s.give(_scale(s, tuple(dims)).astype(real), 0.2)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    point = s.give(s.rng.bits.integers(low, high, tuple(dims), endpoint=True).astype(dtype), 0.2)
    given = axis - len(shape) if s.rng.chance(0.3) else axis
    operands = [scale, point if s.rng.chance(0.8) else None]
    if s.rng.chance(0.5):
        x = s.give(s.rng.array(real, shape, tame=True), 0.9)
        extra = {} if operands[1] or s.opset < 21 else {"output_dtype": s.rng.one((2, 3, 4, 5))}
        s.node("QuantizeLinear", [x, *operands], axis=given, block_size=size, **extra)
    else:
        x = s.give(s.rng.array(dtype, shape), 0.9)
        s.node("DequantizeLinear", [x, *operands], axis=given, block_size=size)


@often(3)
def integer_layers(s: Sketch) -> None:
    """Integer products and convolutions with several zero points, dilations, other ranks."""
    if s.opset < 10:
        return
    op = s.rng.one(("MatMulInteger", "QLinearMatMul", "ConvInteger", "QLinearConv", "QLinearConv"))
    a_type, b_type = s.rng.one(((U8, U8), (U8, I8), (I8, I8)))
    if op in ("MatMulInteger", "QLinearMatMul"):
        lead = s.rng.shape(s.rng.below(2), 1)
        m, k, n = (s.rng.dim(1) for _ in range(3))
        a = s.give(s.rng.array(a_type, (*lead, m, k)), 0.9)
        b = s.give(s.rng.array(b_type, (*lead, k, n) if s.rng.chance(0.5) else (k, n)), 0.4)
        per = (n,) if s.rng.chance(0.4) and len(s.shape_of(b)) == 2 else ()
        points = [s.give(_zero(s, a_type), 0.3), s.give(_zero(s, b_type, per), 0.3)]
        if op == "MatMulInteger":
            s.node(op, [a, b, *points])
            return
        scales = [s.give(_scale(s, d), 0.3) for d in ((), per, ())]
        s.node(op, [a, scales[0], points[0], b, scales[1], points[1], scales[2],
                    s.give(_zero(s, a_type), 0.3)])  # fmt: skip
        return
    rank = s.rng.one((1, 2, 2, 3))
    dims = _dims(s, rank, s.rng.one((1, 2, 4, 9)))
    attrs = _window(s, dims[2:], rank)
    group = s.rng.one([g for g in (1, 2, dims[1]) if dims[1] % g == 0])
    out = group * s.rng.between(1, 3)
    x = s.give(s.rng.array(a_type, dims), 0.9)
    w = s.give(s.rng.array(b_type, (out, dims[1] // group, *attrs["kernel_shape"])), 0.2)
    per = (out,) if s.rng.chance(0.4) else ()
    zeros = np.zeros(per, b_type) if b_type == I8 and op[0] == "Q" else _zero(s, b_type, per)
    if op == "QLinearConv" and per:
        zeros = np.full(per, zeros.reshape(-1)[0], b_type)
    points = [s.give(_zero(s, a_type), 0.2), s.give(zeros, 0 if op[0] == "Q" else 0.2)]
    if op == "ConvInteger":
        s.node(op, [x, w, *points], group=group, **attrs)
        return
    bias = s.give(s.rng.bits.integers(-500, 500, out).astype(np.int32), 0.2)
    scales = [s.give(_scale(s), 0.2), s.give(_scale(s, per), 0), s.give(_scale(s), 0.2)]
    s.node(op, [x, scales[0], points[0], w, scales[1], points[1], scales[2],
                s.give(_zero(s, a_type), 0.2), bias if s.rng.chance(0.5) else None],
           group=group, **attrs)  # fmt: skip


@often(2)
def brain_floats(s: Sketch) -> None:
    """bfloat16, of which ONNX Runtime has few kernels."""
    if s.opset < 16:
        return
    shape = s.rng.shape(s.rng.between(1, 3), 1)
    x = s.give(s.rng.array(F32, shape, tame=True).astype(BF16), 0.9)
    op = s.rng.one("Add Mul Relu Sigmoid Exp MatMul Transpose ReduceSum Softmax Cast Where".split())
    if op in ("Add", "Mul"):
        s.node(op, [x, s.give(s.rng.array(F32, shape, tame=True).astype(BF16), 0.5)])
    elif op == "MatMul":
        other = s.rng.array(F32, (shape[-1], s.rng.between(1, 3)), tame=True).astype(BF16)
        s.node(op, [x, s.give(other, 0.3)])
    elif op == "Cast":
        s.node(op, [x], to=s.rng.one((1, 6, 7, 9, 10, 11)))
    elif op == "Where":
        s.node(op, [s.give(s.rng.bits.random(shape) < 0.5), x, x])
    elif op == "Softmax":
        s.node(op, [x], axis=axis_of(s, len(shape)))
    elif op == "ReduceSum":
        s.node(op, [x, s.give(ints(axis_of(s, len(shape))), 0.3)])
    else:
        s.node(op, [x])
