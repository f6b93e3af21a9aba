"""Quantised operators of com.microsoft through compiled packages: integers are equal."""

from itertools import product

import numpy as np
import pytest

from tests.ops.cases import Weight, rand
from tests.ops.together import Case, Open, check_together
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.frontend import from_onnx

pytestmark = pytest.mark.slow


def real(value):
    return np.array(value, np.float32)


def contrib(op, operands, **attrs):
    return Case(op, operands, attrs, 1, "com.microsoft", close=1e-6)


def quantised(shape, dtype, seed, scale, point):
    """A tensor, its scale and zero point."""
    return rand(*shape, seed=seed, dtype=dtype), real(scale), np.array(point, dtype)


def test_pooling_and_movement(tmp_path):
    u8 = quantised((2, 3, 7, 6), "uint8", 1, 0.05, 11)
    i8 = quantised((2, 3, 7, 6), "int8", 2, 0.03, -5)
    result = (real(0.04), np.array(7, np.uint8))
    signed = (real(0.04), np.array(-7, np.int8))
    cases = [contrib("QLinearAveragePool", [*u8, *result], kernel_shape=[3, 2], strides=[2, 1],
                     pads=[1, 0, 1, 1], count_include_pad=count) for count in (0, 1)]  # fmt: skip
    cases += [contrib("QLinearAveragePool", [*i8, *signed], kernel_shape=[2, 2], channels_last=1)]
    cases += [contrib("QLinearGlobalAveragePool", [*u8, *result], channels_last=last)
              for last in (0, 1)]  # fmt: skip
    opened = Open(i8[0], ["n", 3, "h", "w"])
    cases += [contrib("QLinearGlobalAveragePool", [opened, *i8[1:], *signed])]
    other = quantised((2, 3, 1, 6), "uint8", 3, 0.02, 130)
    cases += [contrib("QLinearConcat", [*result, *u8, *other], axis=2)]
    flags = rand(1, 3, 7, 1, dtype="bool")
    cases += [contrib("QLinearWhere", [flags, *u8, *other, *result])]
    cases += [contrib("NhwcMaxPool", [i8[0]], kernel_shape=[2, 2], strides=[2, 2])]
    share = (real(1 / 256), np.array(0, np.uint8))
    cases += [contrib("QLinearSoftmax", [u8[0], real(0.1), u8[2], *share], axis=axis, opset=opset)
              for axis, opset in ((1, 12), (-1, 13), (2, 13))]  # fmt: skip
    signed = (real(1 / 64), np.array(-20, np.int8))
    cases += [contrib("QLinearSoftmax", [i8[0], real(0.1), i8[2], *signed], axis=1, opset=13)]
    check_together(cases, tmp_path)


@pytest.mark.parametrize("held", [False, True], ids=["at run time", "constant"])
def test_average_pool_of_every_padding(tmp_path, held):
    """ONNX Runtime counts the window with `count_include_pad`, also where it leaves the padding."""
    x, *of_x = quantised((2, 3, 4, 9), "int8", 1, 0.0517, -5)
    result = (real(0.0413), np.array(-7, np.int8))
    steps = [Weight(v) if held else v for v in (*of_x, *result)]
    sides = ({"pads": [0, 1, 0, 1]}, {"pads": [1, 0, 1, 1]}, {"auto_pad": "SAME_UPPER"}, {})
    cases = [
        contrib("QLinearAveragePool", [x, *steps], kernel_shape=[2, 2], strides=[2, 1],
                channels_last=last, ceil_mode=ceil, count_include_pad=count, **side)
        for last, ceil, count, side in product((0, 1), (0, 1), (0, 1), sides)
    ]  # fmt: skip
    opened = Open(x, ["n", 3, "h", "w"])
    cases += [contrib("QLinearAveragePool", [opened, *steps], kernel_shape=[2, 2], strides=[2, 1],
                      pads=[1, 1, 0, 1], count_include_pad=count) for count in (0, 1)]  # fmt: skip
    check_together(cases, tmp_path)


def test_products(tmp_path):
    a = quantised((4, 5), "uint8", 1, 0.05, 110)
    b = quantised((5, 3), "int8", 2, [0.02, 0.01, 0.03], [0, 0, 0])
    one = quantised((5, 3), "uint8", 3, 0.02, 120)
    weights = [Weight(v) for v in b]
    bias, result = rand(3, seed=4, dtype="int32"), (real(0.2), np.array(101, np.uint8))
    cases = [contrib("QGemm", [*a, *b, bias, *result]), contrib("QGemm", [*a, *weights, bias])]
    cases += [contrib("QGemm", [a[0].T.copy(), *a[1:], one[0].T.copy(), *one[1:], None, *result],
                      transA=1, transB=1, alpha=0.5)]  # fmt: skip
    data = rand(2, 4, 5)
    for extra in ([], [real([0.5, -1, 2])]):
        cases += [contrib("DynamicQuantizeMatMul", [data, *b, *extra])]
        cases += [contrib("DynamicQuantizeMatMul", [Open(data, ["n", "m", 5]), *weights, *extra])]
        cases += [contrib("MatMulIntegerToFloat",
                          [a[0], b[0], a[1], b[1], a[2], b[2], *extra])]  # fmt: skip
    cases += [contrib("MatMulIntegerToFloat", [rand(2, 4, 5, dtype="uint8"), one[0], a[1], one[1]])]
    check_together(cases, tmp_path)


def test_dynamicquantizelstm(tmp_path):
    def layer(steps, direction, columns, dtype="int8", data=None):
        count, per = (2 if direction == "bidirectional" else 1), (12,) if columns else ()
        # At most 64: on x86 without VNNI, ONNX Runtime's sums of two products saturate.
        codes = [rand(count, rows, 12, seed=rows, dtype=dtype) // 2 for rows in (4, 3)]
        weights = [Weight(array.astype(dtype)) for array in codes]
        scales = [Weight(0.01 + 0.001 * abs(rand(count, *per, seed=k))) for k in (1, 2)]
        points = [Weight(np.full((count, *per), 0 if dtype == "int8" else 40, dtype))] * 2
        data = rand(steps, 2, 4) if data is None else data
        bias = Weight(rand(count, 24, seed=3))
        pairs = [scales[0], points[0], scales[1], points[1]]
        operands = [data, *weights, bias, None, None, None, None, *pairs]
        # A state that is rounded the other way, as its last bit differs, moves what follows by a
        # step of 1/255 of the range times a weight.
        return Case("DynamicQuantizeLSTM", operands, dict(hidden_size=3, direction=direction), 1,
                    "com.microsoft", 3, close=1e-3)  # fmt: skip

    cases = [layer(3, "forward", False), layer(4, "bidirectional", True, "uint8")]
    opened = Open(rand(5, 2, 4), ["t", 2, 4])
    cases += [layer(12, "reverse", True), layer(0, "forward", True, data=opened)]
    check_together(cases, tmp_path)


def test_constant_steps(tmp_path):
    """With scales and zero points that are known there are kernels for bytes."""

    def held(shape, dtype, seed, scale, point):
        x, *step = quantised(shape, dtype, seed, scale, point)
        return [x, *map(Weight, step)]

    cases = []
    for dtype, point in (("uint8", 11), ("int8", -5)):
        # With these scales no average, sum or product is a tie, which float sums may miss.
        x = held((2, 9, 7, 6), dtype, 1, 0.0517, point)
        other = held((2, 9, 7, 6), dtype, 2, 0.0331, 0)
        result = held((), dtype, 0, 0.0413, point + 2)[1:]
        cases += [contrib("QLinearAveragePool", [*x, *result], kernel_shape=[3, 2], channels_last=1,
                          strides=[2, 1], pads=[1, 0, 1, 1], count_include_pad=count)
                  for count in (0, 1)]  # fmt: skip
        cases += [contrib("QLinearGlobalAveragePool", [*x, *result], channels_last=last)
                  for last in (0, 1)]  # fmt: skip
        cases += [contrib("QLinearConcat", [*result, *x, *other], axis=1)]
        cases += [contrib(f"QLinear{op}", [*x, *other, *result]) for op in ("Add", "Mul")]
        cases += [contrib(f"QLinear{op}", [*x, *result]) for op in ("LeakyRelu", "Sigmoid")]
        share = held((), dtype, 0, 1 / 256, 0 if dtype == "uint8" else -128)[1:]
        cases += [contrib("QLinearSoftmax", [*x, *share], axis=axis, opset=opset)
                  for axis, opset in ((1, 12), (-1, 13), (2, 13))]  # fmt: skip
    check_together(cases, tmp_path)


def test_windows_that_depend_on_open_sizes(tmp_path):
    """Where all of a window counts, the mean is rounded once; else it is not taken."""
    x, *steps = quantised((1, 2, 9, 12), "uint8", 3, 0.5, 7)
    window = {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1}
    operands = [Open(x, [1, 2, "h", "w"]), *steps, *steps]
    check_together(
        [contrib("QLinearAveragePool", operands, **window, count_include_pad=1)], tmp_path
    )
    model, _ = contrib("QLinearAveragePool", operands, **window).model()
    with pytest.raises(UnsupportedError, match="QLinearAveragePool 'node'"):
        from_onnx(model)
