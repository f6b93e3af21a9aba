"""MaxPool and AveragePool against ONNX Runtime."""

import pytest

from tests.ops.cases import check_node, rand

WINDOWS = {
    "plain": ((1, 2, 7, 8), dict(kernel_shape=[2, 3])),
    "strided, padded": ((1, 2, 7, 8), dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 1, 2])),
    "ceil": ((1, 2, 8, 7), dict(kernel_shape=[3, 3], strides=[2, 3], ceil_mode=1)),
    "ceil, padded": (
        (1, 2, 8, 9), dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 1], ceil_mode=1)),
    "ceil, last window outside": (
        (1, 1, 5, 5), dict(kernel_shape=[1, 1], strides=[3, 3], pads=[0, 0, 0, 0], ceil_mode=1)),
    "same upper": ((1, 2, 7, 8), dict(kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_UPPER")),
    "same lower": ((1, 2, 7, 8), dict(kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_LOWER")),
    "valid": ((1, 2, 7, 8), dict(kernel_shape=[3, 2], strides=[2, 2], auto_pad="VALID")),
    "one dim": ((2, 3, 9), dict(kernel_shape=[3], strides=[2], pads=[1, 1])),
    "three dims": ((1, 2, 4, 5, 6), dict(kernel_shape=[2, 2, 3], strides=[1, 2, 3])),
}  # fmt: skip


@pytest.mark.parametrize("case", WINDOWS)
def test_maxpool(case):
    shape, attrs = WINDOWS[case]
    check_node("MaxPool", [rand(*shape)], 12, **attrs)


def test_maxpool_dilated():
    check_node("MaxPool", [rand(1, 2, 9, 9)], 12, kernel_shape=[3, 2], dilations=[2, 3])


def test_maxpool_of_bytes():
    check_node("MaxPool", [rand(1, 2, 5, 5, dtype="uint8")], 12, kernel_shape=[2, 2])


@pytest.mark.parametrize("include", [0, 1])
@pytest.mark.parametrize("case", WINDOWS)
def test_averagepool(case, include):
    shape, attrs = WINDOWS[case]
    check_node("AveragePool", [rand(*shape)], 19, count_include_pad=include, **attrs)


def test_averagepool_dilated():
    check_node("AveragePool", [rand(1, 2, 9, 9)], 19, kernel_shape=[3, 2], dilations=[2, 3])
