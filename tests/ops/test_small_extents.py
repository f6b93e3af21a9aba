"""Every operator that reduces, over extents of 0, 1 and 2: a loop of one iteration is no loop."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.ops.cases import Weight, rand
from tests.ops.together import Case, case, check_together

pytestmark = pytest.mark.slow

FLOATS = ("float32", "float64", "float16")
REDUCTIONS = {
    **dict.fromkeys(["ReduceSum", "ReduceProd", "ReduceL1", "ReduceSumSquare", "ReduceMean"],
                    ("float32", "float64", "int32", "int64")),
    **dict.fromkeys(["ReduceMax", "ReduceMin"], ("float32", "float64", "int8", "int32", "int64")),
    **dict.fromkeys(["ReduceL2", "ReduceLogSum", "ReduceLogSumExp"],
                    ("float32", "float64", "int32")),
}  # fmt: skip
#: Of which there is an answer for no elements at all.
OF_NOTHING = ("ReduceSum", "ReduceProd", "ReduceL1", "ReduceSumSquare", "ReduceL2")


def ints(*values: int) -> Weight:
    return Weight(list(values), "int64")


def reductions() -> Iterator[Case]:
    for op, dtypes in REDUCTIONS.items():
        for dtype in dtypes:
            for extent in (0, 1, 2):
                if extent == 0 and op not in OF_NOTHING:
                    continue
                x = np.abs(rand(3, extent, 2, dtype=dtype))
                yield case(op, [x, ints(1)], keepdims=extent % 2)
            yield case(op, [np.abs(rand(1, 1, 1, dtype=dtype)), ints(0, 2)])
    large = np.array([[np.inf, 1], [-np.inf, -np.inf], [-np.inf, 2], [1e30, -1e30]], "float32")
    for op in ("ReduceLogSumExp", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceL2"):
        yield case(op, [large, ints(1)])


def positions() -> Iterator[Case]:
    for op in ("ArgMax", "ArgMin"):
        for dtype in ("float32", "float64", "int32", "int8"):
            for extent in (1, 2):
                yield case(op, [rand(3, extent, 2, dtype=dtype)], axis=1, keepdims=extent % 2)
        yield case(op, [rand(1, 1)], axis=0, select_last_index=1)
    for extent in (1, 2):
        for dtype in ("float32", "float64"):
            for op in ("Softmax", "LogSoftmax", "Hardmax"):
                yield case(op, [rand(2, extent, dtype=dtype)], axis=-1)
                yield case(op, [rand(extent, 2, dtype=dtype)], axis=0)
            yield case("Softmax", [rand(1, extent, 1, dtype=dtype)], axis=1)
        yield case("CumSum", [rand(extent, 2), ints(0)])
        yield case("CumSum", [rand(2, extent, dtype="int64"), ints(1)])
        yield case("TopK", [rand(extent, 3), ints(1)], axis=0, outputs=2)


def normalisations() -> Iterator[Case]:
    for n in (1, 2):
        for dtype in ("float32", "float64"):
            scale, bias = rand(2, dtype=dtype), rand(2, seed=1, dtype=dtype)
            yield case("InstanceNormalization", [rand(1, 2, n, 1, dtype=dtype), scale, bias])
        scale, bias = Weight(rand(n)), Weight(rand(n, seed=1))
        yield case("LayerNormalization", [rand(3, n), scale, bias], axis=-1, relative=1e-4)
        yield case("GroupNormalization", [rand(1, 2, n), Weight(rand(2)), Weight(rand(2))],
                   num_groups=2, opset=21, relative=1e-4)  # fmt: skip
        # ONNX Runtime's variance of one element is below 0 by rounding, and has no root then.
        wants = [np.zeros((1, 1, 1, 1), np.float32)] if n == 1 else None
        yield case("MeanVarianceNormalization", [rand(n, 1, 1, 1)], wants=wants, axes=[0, 2, 3])
        yield case("LRN", [rand(1, n, 2, 2)], size=1)
        yield case("GlobalAveragePool", [rand(1, 2, n, 1)])
        yield case("GlobalMaxPool", [rand(1, 2, n, 1)])
        yield case("GlobalLpPool", [rand(1, 2, n, 1)])


def products() -> Iterator[Case]:
    for k in (0, 1, 2):
        for dtype in (*FLOATS, "int32", "int64"):
            yield case("MatMul", [rand(2, k, dtype=dtype), rand(k, 3, dtype=dtype)])
        for dtype in ("float32", "float64"):
            yield case("MatMul", [rand(k, dtype=dtype), rand(k, dtype=dtype)])
            yield case("Gemm", [rand(1, k, dtype=dtype), rand(k, 1, dtype=dtype)])
            yield case(
                "Gemm", [rand(k, 2, dtype=dtype), rand(1, k, dtype=dtype)], transA=1, transB=1
            )
            yield case(
                "Einsum", [rand(2, k, dtype=dtype), rand(2, k, dtype=dtype)], equation="ij,ij->i"
            )
        if k:
            yield case(
                "MatMulInteger", [rand(2, k, dtype="uint8"), Weight(rand(k, 2, dtype="int8"))]
            )
            yield from quantised(k)
    for n in (1, 2):
        x, w = rand(1, n, 1, 1), rand(2, n, 1, 1)
        yield case("Conv", [x, Weight(w)])
        yield case("Conv", [rand(1, 2, n, 1), Weight(rand(2, 1, 1, 1))], group=2)
        yield case("Conv", [x.astype("float64"), Weight(w.astype("float64"))])
        yield case(
            "ConvInteger",
            [rand(1, n, 1, 1, dtype="uint8"), Weight(rand(2, n, 1, 1, dtype="uint8"))],
        )
        yield case("ConvTranspose", [x, Weight(rand(n, 2, 1, 1))])
        yield case("MaxPool", [rand(1, 1, n, n)], kernel_shape=[1, 1])
        yield case("AveragePool", [rand(1, 1, n, n)], kernel_shape=[n, 1])
        yield case("LpPool", [rand(1, 1, n, n)], kernel_shape=[1, 1])


def quantised(k: int) -> Iterator[Case]:
    def scaled(*shape: int, dtype: str = "uint8") -> list[Weight]:
        return [Weight(rand(*shape, dtype=dtype)), Weight(0.5, "float32"), Weight(3, dtype)]

    scale, zero = Weight(2.0, "float32"), Weight(7, "uint8")
    x = [rand(2, k, dtype="uint8"), *scaled(1)[1:]]
    yield case("QLinearMatMul", [*x, *scaled(k, 3), scale, zero])
    x = [rand(1, k, 2, 2, dtype="uint8"), *scaled(1)[1:]]
    yield case("QLinearConv", [*x, *scaled(3, k, 1, 1), scale, zero])
    x = [rand(1, 2, 2, k, dtype="uint8"), *scaled(1)[1:]]
    yield case("QLinearConv", [*x, *scaled(2, 1, 1, 1), scale, zero], group=2)


@pytest.mark.parametrize("made", [reductions, positions, normalisations, products])
def test_small_extents(made, tmp_path: Path) -> None:
    check_together(made(), tmp_path)
