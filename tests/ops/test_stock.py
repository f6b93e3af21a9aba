"""Operators over their attributes, opsets and special values, many nodes to a package.

One table for what TVM's converters serve and for what replaced one of them; see `CASES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper

from tests.ops.cases import Weight, rand
from tests.ops.together import Case, case, check_together, right_answer

pytestmark = pytest.mark.slow

F32 = np.float32
INF, NAN = np.inf, np.nan
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 1e-40, 1e30, -1e30, INF, -INF, NAN], F32
)


def ints(*values: int, dtype: str = "int64") -> Weight:
    return Weight(list(values), dtype)


def mod() -> Iterator[Case]:
    a = np.array([7, -7, 7, -7, 0, -0.0, 5.5, -5.5, 1e30, INF, NAN, 1, 1, -1, -1, -3, 3, 0.0], F32)
    b = np.array([3, 3, -3, -3, -2, 2, 2, -2, 3, 2, 2, INF, -INF, INF, -INF, NAN, 0, -INF], F32)
    for dtype in ("float32", "float64"):
        with np.errstate(all="ignore"):
            wants = [np.mod(a.astype(dtype), b.astype(dtype))]
        yield case("Mod", [a.astype(dtype), b.astype(dtype)], wants=wants)
        yield case("Mod", [a.astype(dtype), b.astype(dtype)], fmod=1)
    for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        x = np.array([low, low, high, high, 7, 7, low, high], dtype)
        y = np.array([3, high, 2, high, 3, 5, low or 1, low or 1], dtype)
        yield case("Mod", [x, y])
        # ONNX Runtime computes it in f64, which has no room for these.
        yield case("Mod", [x, y], fmod=1, wants=[np.fmod(x, y)])
        if low:
            x, y = np.array([-7, 7, -7, low], dtype), np.array([3, -3, -3, -2], dtype)
            yield case("Mod", [x, y])
            yield case("Mod", [x, y], fmod=1)
            zero = np.zeros(2, dtype)
            yield case("Mod", [np.array([low, -5], dtype), np.array([-1, -1], dtype)], wants=[zero])


def regions() -> Iterator[Case]:
    x = rand(2, 3, 7, 9)
    rois = np.array(
        [
            [0, 0, 8, 6],
            [1.2, 2.7, 5.1, 4.4],
            [-3, -2, 4, 3],
            [5, 5, 20, 30],
            [4, 4, 4, 4],
            [6, 5, 2, 1],
        ],
        F32,
    )
    batches = np.array([0, 1, 1, 0, 0, 1])
    for mode, ratio in product(["avg", "max"], [0, 1, 2]):
        for opset, pixels in ((16, "half_pixel"), (16, "output_half_pixel"), (10, None)):
            extra = {"coordinate_transformation_mode": pixels} if pixels else {}
            keep = slice(0, 5) if pixels == "half_pixel" else slice(None)
            yield case("RoiAlign", [x, rois[keep], batches[keep]], opset, mode=mode,
                       sampling_ratio=ratio, output_height=2, output_width=3, spatial_scale=0.5,
                       **extra)  # fmt: skip
    yield case(
        "RoiAlign", [x.astype("f8"), rois[:4].astype("f8"), batches[:4]], 16, output_height=3
    )
    boxes = np.array([[0, 0, 0, 8, 6], [1, 2, 2, 5, 4], [0, 1, 1, 3, 3]], F32)
    yield case("MaxRoiPool", [x, boxes], pooled_shape=[2, 2])
    yield case("MaxRoiPool", [x, boxes], pooled_shape=[3, 2], spatial_scale=0.5)
    # Halves are rounded away from 0, on both sides of it, and what is just below one is not.
    near = np.array([[0, -3, -1, 5, 3], [0, -1, -5, 3, 1], [0, 0.49999997, 0, 2, 2]], F32)
    for scale in (1.0, 0.5):
        yield case("MaxRoiPool", [x, near], pooled_shape=[4, 3], spatial_scale=scale)


def blocks() -> Iterator[Case]:
    x = rand(2, 8, 4, 6)
    for size in (1, 2):
        yield case("SpaceToDepth", [x], 13, blocksize=size)
        yield case("DepthToSpace", [x], 13, blocksize=size, mode="DCR")
        yield case("DepthToSpace", [x], 11, blocksize=size, mode="CRD")
    want = x.reshape(2, 8, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(2, 32, 2, 3)
    yield case("SpaceToDepth", [x], 28, blocksize=2, mode="CRD", wants=[want])


def pools() -> Iterator[Case]:
    x = rand(1, 2, 7, 8)
    for p, ceil in product([1, 2, 3], [0, 1]):
        yield case("LpPool", [x], p=p, ceil_mode=ceil, kernel_shape=[3, 2], strides=[2, 3])
        yield case("LpPool", [x], p=p, ceil_mode=ceil, kernel_shape=[3, 3], strides=[2, 2],
                   pads=[1, 0, 0, 1])  # fmt: skip
        yield case("LpPool", [x], p=p, ceil_mode=ceil, kernel_shape=[2, 2], dilations=[2, 3])
        yield case("LpPool", [rand(1, 2, 9)], p=p, ceil_mode=ceil, kernel_shape=[3], strides=[2])
        yield case("GlobalLpPool", [x], p=p)
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        yield case("LpPool", [x], kernel_shape=[3, 2], strides=[2, 2], auto_pad=pad)
    yield case("GlobalMaxPool", [rand(2, 3, 5)])
    yield case("GlobalAveragePool", [rand(2, 3, 2, 3, 2)])
    lowest = np.full((1, 1, 1, 1), -INF, F32)  # ONNX Runtime begins with the lowest finite number
    yield case("GlobalMaxPool", [np.full((1, 1, 2, 2), -INF, F32)], wants=[lowest])


def topk() -> Iterator[Case]:
    x = rand(3, 5)
    for k, axis, largest in product([0, 1, 5], [0, 1], [0, 1]):
        if k <= x.shape[axis]:
            yield case("TopK", [x, ints(k)], axis=axis, largest=largest, outputs=2)
    yield case("TopK", [np.array([1, 3, 3, 2, 3], F32), ints(4)], outputs=2)
    yield case("TopK", [np.array([1, 1, 1, 0], "int64"), ints(2)], largest=0, outputs=2)
    yield case("TopK", [x], 9, k=2, outputs=2)
    many = rand(2, 40, 3, dtype="int32") // 20  # with many that are equal
    for k, largest in product([15, 16, 17, 40], [0, 1]):  # held in order, or sorted
        yield case("TopK", [many, ints(k)], axis=1, largest=largest, outputs=2)
        yield case("TopK", [many.astype(F32), ints(k)], axis=1, largest=largest, outputs=2)


def resizes() -> Iterator[Case]:
    for dtype in ("uint8", "int8", "int32", "float32"):
        x = rand(1, 2, 4, 5, dtype=dtype)
        # ONNX Runtime has no cubic mode for integers.
        for mode in ("nearest", "linear", "cubic")[: 3 if dtype == "float32" else 2]:
            for scales in ([1, 1, 2, 2], [1, 1, 0.5, 1.5]):
                yield case("Resize", [x, None, Weight(scales, "float32")], mode=mode)
        if dtype in ("uint8", "int32"):  # of int8 ONNX Runtime makes something else
            large = rand(1, 2, 8, 9, dtype=dtype)
            # Thirds of an int32 are cut to a whole number or to the one below, by machine.
            for scales in ([1, 1, 2, 2], [1, 1, 0.5, 1.5 if dtype == "uint8" else 4]):
                sizes = Weight(scales, "float32")
                yield case("Resize", [large, None, sizes], mode="linear", antialias=1)


def normalisations() -> Iterator[Case]:
    x = rand(2, 3, 4)
    for axis in (-3, -2, -1, 0, 1, 2):
        shape = x.shape[axis:]
        scale, bias = rand(*shape, seed=1), rand(*shape, seed=2)
        yield case("LayerNormalization", [x, scale, bias], 17, axis=axis, relative=1e-4)
        yield case("LayerNormalization", [x, scale], 17, axis=axis, epsilon=0.1, relative=1e-4)
        with np.errstate(all="ignore"):
            over = tuple(range(axis % 3, 3))
            want = x / np.sqrt(np.mean(x * x, over, keepdims=True) + F32(1e-5)) * scale
        yield case("RMSNormalization", [x, scale], 23, axis=axis, wants=[want])
    for groups in (1, 2, 4):
        for shape in ((2, 4, 3), (2, 4, 3, 2), (1, 4, 2, 1, 2)):
            data = rand(*shape)
            yield case("GroupNormalization", [data, rand(4, seed=1), rand(4, seed=2)], 21,
                       num_groups=groups, relative=1e-4)  # fmt: skip
            yield case("GroupNormalization", [data, rand(groups, seed=1), rand(groups, seed=2)], 18,
                       num_groups=groups, relative=1e-4)  # fmt: skip
    for axes in ([0, 2, 3], [1], [2, 3]):
        yield case("MeanVarianceNormalization", [rand(2, 3, 4, 2)], 13, axes=axes, relative=1e-4)
    for size in (1, 2, 3, 4, 5):  # ONNX Runtime has odd ones only, the reference is wrong
        data = rand(1, 5, 3, 2)
        yield case("LRN", [data], 13, size=size, alpha=0.5, beta=0.6, bias=2.0,
                   wants=[lrn(data, size)])  # fmt: skip
    for shape in ((2, 3, 4), (1, 3, 2, 2)):
        yield case("InstanceNormalization", [rand(*shape), rand(3), rand(3, seed=1)], epsilon=0.01)


def lrn(x: np.ndarray, size: int) -> np.ndarray:
    """As ONNX defines it: over channels from ``floor((size - 1) / 2)`` before on."""
    before = (size - 1) // 2
    rows = [
        range(max(c - before, 0), min(c - before + size, x.shape[1])) for c in range(x.shape[1])
    ]
    sums = np.stack([(x[:, list(row)] ** 2).sum(1) for row in rows], 1)
    return x / (F32(2.0) + F32(0.5) / F32(size) * sums) ** F32(0.6)


def positions() -> Iterator[Case]:
    ties = np.array([[3, 1, 3], [0, 0, -1], [2, 2, 2]], F32)
    for op, last, keep, axis in product(["ArgMax", "ArgMin"], [0, 1], [0, 1], [0, -1]):
        yield case(op, [ties], select_last_index=last, keepdims=keep, axis=axis)
    yield case("ArgMax", [ties.astype("int8")], axis=1)
    for dtype in ("float32", "float64"):
        edges = np.array([[-INF, -INF], [INF, INF], [NAN, NAN], [1, NAN]], dtype)
        first = np.array([[0], [0], [0], [1]])  # a NaN is the extreme
        yield case("ArgMax", [edges], axis=1, wants=[first])
        yield case("ArgMin", [edges], axis=1, wants=[first])
    yield case("Hardmax", [np.full((2, 3), -INF, F32)], 13)
    for axis in (0, 1, 2):
        yield case("Hardmax", [rand(2, 3, 4)], 13, axis=axis)
        yield case("Hardmax", [rand(2, 3, 4)], 11, axis=axis)
    yield case("Hardmax", [ties], 13, axis=1)
    for exclusive, reverse in product([0, 1], [0, 1]):
        yield case("CumSum", [rand(3, 4), ints(1)], exclusive=exclusive, reverse=reverse)
        yield case("CumSum", [rand(3, 4, dtype="int32"), Weight(-2, "int64")],
                   exclusive=exclusive, reverse=reverse)  # fmt: skip
    for k in (-5, -1, 0, 2, 9):
        for upper in (0, 1):
            yield case("Trilu", [rand(3, 4), Weight(k, "int64")], upper=upper)
    yield case("EyeLike", [rand(3, 4)], k=1)
    yield case("EyeLike", [rand(3, 4)], k=-1)
    for reverse in (0, 1):
        lengths = np.array([1, 3, 2, 0 + 1])
        yield case("ReverseSequence", [rand(4, 4, 2), lengths], batch_axis=reverse,
                   time_axis=1 - reverse)  # fmt: skip


#: Operators of one float operand with their attributes.
UNARY = {
    "Abs": [{}], "Neg": [{}], "Floor": [{}], "Ceil": [{}], "Round": [{}], "Sign": [{}],
    "Sqrt": [{}], "Exp": [{}], "Log": [{}], "Reciprocal": [{}], "Erf": [{}], "IsNaN": [{}],
    "IsInf": [{}, {"detect_negative": 0}, {"detect_positive": 0}],
    "Sin": [{}], "Cos": [{}], "Tan": [{}], "Sinh": [{}], "Cosh": [{}], "Tanh": [{}],
    "Asin": [{}], "Acos": [{}], "Atan": [{}], "Asinh": [{}], "Acosh": [{}], "Atanh": [{}],
    "Relu": [{}], "Sigmoid": [{}], "Softplus": [{}], "Softsign": [{}], "Mish": [{}],
    "LeakyRelu": [{}, {"alpha": 2.0}], "Elu": [{}, {"alpha": 0.3}], "Celu": [{}, {"alpha": 0.5}],
    "Selu": [{}, {"alpha": 1.0, "gamma": 2.0}], "ThresholdedRelu": [{}, {"alpha": -0.5}],
    "HardSigmoid": [{}, {"alpha": 0.5, "beta": 0.1}], "HardSwish": [{}],
    "Shrink": [{}, {"lambd": 1.0, "bias": 0.5}], "Gelu": [{}, {"approximate": "tanh"}],
}  # fmt: skip
#: Of which ONNX Runtime gives a number where its definition says none, or approximates.
SPECIAL_LEFT_OUT = {"Gelu", "Mish", "Celu", "Selu", "HardSwish", "Erf", "Tanh", "Sin", "Cos", "Tan"}


def unary() -> Iterator[Case]:
    for op, rows in UNARY.items():
        x = SPECIAL[:10] if op in SPECIAL_LEFT_OUT else SPECIAL
        for attrs in rows:
            yield case(op, [x], 20 if op in ("Gelu", "IsInf") else 18, **attrs)
    for op in ("Abs", "Neg", "Sign"):
        for dtype in ("int8", "int32", "int64"):
            yield case(op, [np.array([-128, -1, 0, 1, 127], dtype)])
    yield case("Sign", [np.array([0, 1, 255], "uint8")])


def shrunk_integers() -> Iterator[Case]:
    """The edge and the bias of integers are real numbers, and may be none of theirs."""
    rows = [(0.5, 0.0), (1.5, 0.0), (1.5, 1.5), (-1.5, 1.0), (1.0, 0.5), (-300.0, 2.0), (INF, 1.0)]
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        x = np.array([0, 1, 2, 3, 5, 100, *([-1, -2, -3, -100] if dtype[0] == "i" else [])], dtype)
        for lambd, bias in rows:
            real = x.astype("f8")
            moved = np.where(real > lambd, real - bias, 0)
            want = np.where(real < -lambd, real + bias, moved)
            # Of what is negative, low bits: C casts no negative real to an unsigned type.
            wants = [want.astype("i8").astype(dtype)]
            yield case("Shrink", [x], lambd=lambd, bias=bias, wants=wants)


def edges_of_halves() -> Iterator[Case]:
    """An edge has the digits of f32: that of f16 is above or below it."""
    for edge in (0.3, 0.1, 0.5, -0.3, -0.1, 70000.0, -70000.0, INF):
        with np.errstate(over="ignore"):
            near = np.array([edge, -edge], "float16")
        finite = [np.nextafter(near, np.float16(far)) for far in (-INF, INF)]
        x = np.concatenate([near, *finite, np.array([1, -1, 65504, -65504, INF, -INF], "float16")])
        real, exact = x.astype("f8"), float(np.float32(edge))
        above = np.where(real > exact, real, 0)
        yield case("ThresholdedRelu", [x], alpha=edge, wants=[above.astype("float16")])
        both = np.where(real < -exact, real, above)
        yield case("Shrink", [x], lambd=edge, bias=0.0, wants=[both.astype("float16")])


def powers() -> Iterator[Case]:
    """Exponents that f32 would round: to even ones, or to whole ones. A half, which is no root."""
    x = np.array([1, -1, -2.5, 2.5, 0.999999, -0.999999, -0.0, -INF, NAN], F32)
    exponents = [(2**24 + 1, t) for t in ("int32", "uint32", "int64", "uint64", "float64")]
    exponents += [(-(2**24) - 1, "int64"), (3 + 1e-11, "float64"), (0.1, "float64"), (3, "int64")]
    exponents += [(0.5, "float32"), (0.5, "float64")]
    for exponent, dtype in exponents:
        for make in (np.asarray, Weight):
            yield case("Pow", [x, make(np.asarray(exponent, dtype))])


def clips() -> Iterator[Case]:
    """The largest finite number is a bound like any other: what is infinite becomes it."""
    for dtype in ("float32", "float64", "float16"):
        last = np.finfo(dtype).max
        x = np.array([0, -0.0, 1, -1, last, -last, INF, -INF, NAN], dtype)
        for low, high in ((-last, last), (0, last), (-last, -INF), (INF, last)):
            bounds = [Weight(v, dtype) for v in (low, high)]
            yield case("Clip", [x, *bounds], wants=[np.minimum(np.maximum(x, low), high)])
        for low, high in ((NAN, 2), (-2, NAN), (NAN, NAN)):  # NaN bounds nothing: no x is beyond it
            want = np.fmin(np.fmax(x, np.array(low, dtype)), np.array(high, dtype))
            want[np.isnan(x)] = NAN
            for make in (np.array, Weight):
                yield case("Clip", [x, make(low, dtype), make(high, dtype)], wants=[want])
    for attrs in ({}, {"min": 0.0}, {"max": 3.0}):
        yield case("Clip", [SPECIAL], 9, **attrs)


def filled() -> Iterator[Case]:
    """The f64 that the model has, also one that no f32 is."""
    for value in (1e300, -1e39, 0.1, 5e-324, INF, NAN):
        tensor = numpy_helper.from_array(np.array([value]))
        yield case("ConstantOfShape", [np.array([2, 3])], value=tensor, relative=0)


def bits() -> Iterator[Case]:
    for dtype in ("uint8", "uint32", "uint64"):
        x = np.array([1, 2, 255, 128], dtype)
        for direction in ("LEFT", "RIGHT"):
            yield case("BitShift", [x, np.array([1, 3, 7, 0], dtype)], direction=direction)
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        for dtype in ("int8", "uint16", "int32", "int64"):
            yield case(op, [rand(5, dtype=dtype), rand(3, 1, dtype=dtype, seed=1)])
    yield case("BitwiseNot", [rand(5, dtype="int16")])


def casts() -> Iterator[Case]:
    x = np.array([0.0, -0.0, 0.9, -0.9, 1.5, 100.7, -100.7, 127.0], F32)
    for to in range(1, 14):
        if to == 8 or (to in (2, 4, 12, 13)):
            continue
        yield case("Cast", [x], to=to)
        yield case("Cast", [rand(6, dtype="int64")], to=to)
        yield case("Cast", [np.array([True, False])], to=to)
    for to in (2, 4, 12, 13):
        yield case("Cast", [np.abs(x)], to=to)
        yield case("Cast", [rand(6, dtype="int32")], to=to)
    yield case("Cast", [SPECIAL], to=9)
    yield case("CastLike", [x, rand(1, dtype="int32")])


def quantised() -> Iterator[Case]:
    x = np.concatenate([rand(4, 3) * 50, [[0.5, 1.5, 2.5], [1e9, -1e9, -0.5]]]).astype(F32)
    for dtype in ("uint8", "int8"):
        zero = np.array(3, dtype)
        yield case("QuantizeLinear", [x, np.array(1.0, F32), zero])
        yield case("QuantizeLinear", [x, np.array([0.5, 1, 2], F32), np.array([1, 2, 3], dtype)])
        yield case(
            "QuantizeLinear",
            [x.T.copy(), np.array([0.5, 1, 2], F32), np.array([1, 2, 3], dtype)],
            axis=0,
        )
        q = rand(4, 3, dtype=dtype)
        yield case("DequantizeLinear", [q, np.array(0.3, F32), zero])
        yield case("DequantizeLinear", [q, np.array([0.5, 1, 2], F32)], axis=-1)
        yield case(
            "DequantizeLinear",
            [q, np.array([0.5, 1, 2, 3], F32), np.array([1, 2, 3, 4], dtype)],
            axis=0,
        )
    whole = np.array([[-300, -5, 0], [3, 7, 1000], [-(2**31), 2**31 - 1, 2**24 + 1]], np.int32)
    for opset, step in ((13, np.array(2, F32)), (21, np.array(2, np.int32))):
        yield case("QuantizeLinear", [whole, step, np.array(3, np.int8)], opset)
    steps = np.array([0.5, 1e6, 0.3], F32)
    yield case("QuantizeLinear", [whole, steps, np.array([1, 2, 3], np.uint8)], 13)
    yield case("DequantizeLinear", [rand(4, dtype="int32"), np.array(0.3, F32)])
    for data in (x, np.abs(x), -np.abs(x), np.zeros((2, 2), F32), np.array([1.0], F32)):
        yield case("DynamicQuantizeLinear", [data], outputs=3)


def grids() -> Iterator[Case]:
    x, grid = rand(1, 2, 4, 5), (rand(1, 3, 4, 2) * 1.2).astype(F32)
    names = (["linear", "nearest", "cubic"], ["zeros", "border", "reflection"], [0, 1])
    for mode, padding, align in product(*names):
        yield case(
            "GridSample", [x, grid], 20, mode=mode, padding_mode=padding, align_corners=align
        )
    for dtype in ("float16", "float64", "int8", "uint8", "int32", "int64"):  # beside a grid of f32
        image = np.abs(x * 20).astype(dtype)
        for mode in ("linear", "cubic", "nearest"):
            real = case("GridSample", [image.astype(F32), grid], 20, mode=mode)
            found = right_answer(real)[0]
            wants = [found.astype("f8").astype("i8").astype(dtype)]
            wants = [found.astype(dtype)] if dtype[0] == "f" else wants
            yield case("GridSample", [image, grid], 20, mode=mode, wants=wants, relative=2e-3)
    for shape, align in product([(1, 1, 1, 4), (1, 1, 1, 1)], [0, 1]):
        yield case("GridSample", [rand(*shape), grid], 20, padding_mode="reflection",
                   align_corners=align)  # fmt: skip
    halves = np.stack(np.meshgrid(*[np.arange(-6, 7) / 2] * 2), -1)[None].astype(F32)
    for shape, align in product([(1, 1, 4, 3), (1, 1, 2, 5)], [0, 1]):
        for padding in ("zeros", "border", "reflection"):
            yield case("GridSample", [rand(*shape), halves], 20, mode="nearest",
                       padding_mode=padding, align_corners=align)  # fmt: skip
    for align in (0, 1):
        yield case("AffineGrid", [rand(2, 2, 3), ints(2, 1, 3, 4)], 20, align_corners=align)
        yield case("AffineGrid", [rand(1, 3, 4), ints(1, 1, 2, 3, 4)], 20, align_corners=align)


CASES: list[Callable[[], Iterator[Case]]] = [
    mod, regions, blocks, pools, topk, resizes, normalisations, positions, unary, shrunk_integers,
    edges_of_halves, powers, clips, filled, bits, casts, quantised, grids,
]  # fmt: skip


@pytest.mark.parametrize("made", CASES)
def test_stock(made: Callable[[], Iterator[Case]], tmp_path: Path) -> None:
    check_together(made(), tmp_path)
