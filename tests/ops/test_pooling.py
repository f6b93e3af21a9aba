"""MaxPool, AveragePool and LpPool against ONNX Runtime."""

import pytest

from tests.ops.cases import Weight, check_node, node_model, rand
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.frontend import from_onnx

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
    "same, ceil": (
        (1, 2, 7, 8),
        dict(kernel_shape=[3, 2], strides=[2, 3], auto_pad="SAME_LOWER", ceil_mode=1)),
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


@pytest.mark.parametrize("auto", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("op", ["AveragePool", "MaxPool", "LpPool", "Conv"])
def test_same_with_a_window_shorter_than_its_step(op, auto):
    """A padding of -1 is none; below that it is said of no runtime what it is."""
    weight = [Weight(rand(2, 2, 1, 1, seed=1))] if op == "Conv" else []
    attrs = dict(kernel_shape=[1, 1], auto_pad=auto)
    # MaxPool of ONNX Runtime takes sizes only where the padding is none.
    odd = rand(1, 2, 7, 9)
    check_node(op, [odd, *weight], 18, strides=[2, 2], **attrs)
    if op in ("LpPool", "Conv"):
        check_node(op, [rand(1, 2, 8, 9), *weight], 18, strides=[2, 2], **attrs)
    model, _ = node_model(op, [odd, *weight], 18, strides=[2, 3], **attrs)
    with pytest.raises(UnsupportedError, match=f"{op} 'node': auto_pad SAME .* padding of -2 for"):
        from_onnx(model)


@pytest.mark.parametrize(
    "attrs",
    [
        {"kernel_shape": [2, 1], "pads": [2, 0, 0, 0]},
        {"kernel_shape": [2, 1], "pads": [0, 0, 2, 0]},
        {"kernel_shape": [2, 1], "pads": [1, 0, 1, 0], "dilations": [2, 1]},
        {"kernel_shape": [2, 1], "auto_pad": "SAME_UPPER", "dilations": [2, 1]},
    ],
)
def test_a_largest_of_padding_only(attrs):
    model, _ = node_model("MaxPool", [rand(1, 2, 1, 5)], 18, **attrs)
    with pytest.raises(UnsupportedError, match="axis 2 has nothing but padding"):
        from_onnx(model)
    none, _ = node_model("MaxPool", [rand(0, 2, 1, 5)], 18, **attrs)
    from_onnx(none)  # of no images there is no window
