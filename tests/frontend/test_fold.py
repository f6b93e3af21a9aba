"""What is folded, by what the operators' classes say of themselves."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from tvm_megcc.frontend import fold

OPSETS = {"": 18}
BIG = np.zeros((1, 1, 512, 512), np.float32)


def folded(op, *operands, **attrs):
    names = [f"i{k}" for k in range(len(operands))]
    return fold.fold(helper.make_node(op, names, ["o"], **attrs), operands, OPSETS)


def test_a_cheap_node_is_folded_whatever_its_size():
    assert folded("Add", BIG, BIG) is not None
    assert folded("Exp", BIG) is not None  # TVM's, without a file in ops/


@pytest.mark.parametrize(("op", "operands", "attrs"), [
    ("GatherElements", (BIG, BIG.astype(np.int64)), {}),
    ("Einsum", (BIG,), {"equation": "abcd->abdc"}),
])  # fmt: skip
def test_a_slow_one_only_where_it_is_small(op, operands, attrs):
    assert folded(op, *operands, **attrs) is None
    assert folded(op, *(a[..., :4, :4] for a in operands), **attrs) is not None


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16])
@pytest.mark.parametrize("op", ["ReduceL1", "ReduceProd", "ReduceSum", "ReduceSumSquare"])
def test_a_type_that_onnx_does_not_list_is_not_widened(op, dtype):
    """Of some such operands ONNX infers no type, and numpy's sum is of 64 bits."""
    data, axes = np.arange(3).astype(dtype), np.array([0])
    made = folded(op, data, axes)
    assert made is None or made[0].dtype == dtype
    (whole,) = folded(op, data.astype(np.int32), axes)
    assert whole.dtype == np.int32


def test_random_results_are_never_folded():
    assert folded("Dropout", BIG[..., :1, :1]) is None
    assert folded("RandomNormal", shape=[2], seed=1.0) is None
    assert folded("Bernoulli", BIG[..., :1, :1]) is None


@pytest.mark.parametrize(("op", "operands"), [
    ("ConstantOfShape", [np.array([2048, 2048])]),
    ("Expand", [np.zeros(1, np.float32), np.array([2048, 2048])]),
    ("Tile", [np.zeros(1, np.float32), np.array([1 << 22])]),
    ("Range", [np.array(0), np.array(1 << 22), np.array(1)]),
    ("OneHot", [np.zeros(2048, np.int64), np.array(2048), np.array([0, 1])]),
])  # fmt: skip
def test_much_out_of_little_is_left_to_the_converter(op, operands):
    assert folded(op, *operands) is None


@pytest.mark.parametrize(("op", "opset", "attrs", "folds"), [
    *((op, 12, {"axis": 0}, False) for op in ("Hardmax", "Softmax")),
    *((op, 12, {"axis": -1}, True) for op in ("Hardmax", "Softmax")),
    *((op, 13, {"axis": 0}, True) for op in ("Hardmax", "Softmax")),
    ("Shape", 18, {"end": -3}, False),
    ("Shape", 18, {}, True),
    ("Unsqueeze", 11, {"axes": [-2, -1]}, False),
    ("Unsqueeze", 11, {"axes": [0, 1]}, True),
    ("Unique", 18, {"sorted": 0}, False),
    ("Unique", 18, {}, True),
])  # fmt: skip
def test_what_the_reference_misreads_is_left_to_the_converter(op, opset, attrs, folds):
    node = helper.make_node(op, ["x"], ["o"], **attrs)
    found = fold.fold(node, [np.array([[3, 1], [2, 3]], np.float32)], {"": opset})
    assert (found is not None) == folds


@pytest.mark.parametrize(("step", "folds"), [(0.1, True), (np.inf, False), (-np.inf, False)])
def test_an_endless_step_is_left_to_the_converter(step, folds):
    found = folded("Range", *(np.array(v, np.float32) for v in (0, 3, step)))
    assert (found is not None) == folds


X = np.arange(1, 9, dtype=np.float32).reshape(1, 2, 4)
NAN = np.where(X == 2, np.float32(np.nan), X)
MISREAD = {
    "LSTM": ("LSTM", [X, X.reshape(1, 4, 2)[:, :, [0, 1, 0, 1]], np.ones((1, 4, 1), "f4")],
             {"hidden_size": 1, "clip": 0.5}),
    "GatherElements": ("GatherElements", [X, np.full(X.shape, -2**63)], {}),
    "GRU": ("GRU", [X, np.ones((1, 3, 4), "f4"), np.ones((1, 3, 1), "f4")], {"hidden_size": 1}),
    "RNN": ("RNN", [X, np.ones((1, 1, 4), "f4"), np.ones((1, 1, 1), "f4")], {"hidden_size": 1}),
    "ConvTranspose": ("ConvTranspose", [X, np.ones((2, 1, 1), "f4")],
                      {"auto_pad": "SAME_UPPER", "strides": [3]}),
    "Erf": ("Erf", [X.astype("f8")], {}),
    "Resize": ("Resize", [X, None, np.array([1, 1, 0.6], "f4")],
               {"mode": "linear", "coordinate_transformation_mode": "align_corners"}),
    "Unsqueeze": ("Unsqueeze", [X, np.array([4, 1])], {}),
    "LpNormalization": ("LpNormalization", [X], {}),
    "MeanVarianceNormalization": ("MeanVarianceNormalization", [X[..., None]], {}),
    "MaxPool": ("MaxPool", [NAN], {"kernel_shape": [2]}),
    "GlobalMaxPool": ("GlobalMaxPool", [NAN], {}),
    "LRN": ("LRN", [X[..., None]], {"size": 3}),
    "ArgMax": ("ArgMax", [NAN], {}),
    "Max": ("Max", [NAN, X], {}),
    "Slice": ("Slice", [X, np.array([-2]), np.array([-3]), np.array([0]), np.array([-1])], {}),
    "Pad": ("Pad", [X, np.array([0, 0, -1, 0, 0, 1])], {}),
    "LogSoftmax": ("LogSoftmax", [X * 1e4], {}),
    "AveragePool": ("AveragePool", [X], {"kernel_shape": [3], "ceil_mode": 1, "strides": [2]}),
    # A function of simpler ones.
    "NegativeLogLikelihoodLoss": ("NegativeLogLikelihoodLoss", [X, np.zeros((1, 4), np.int64)], {}),
    "OneHot": ("OneHot", [np.array([0]), np.array(2), np.array([1, 1e-9], "f4")], {}),
    "OneHot of reals": ("OneHot", [np.array([1.9], "f4"), np.array(2), np.array([0, 1])], {}),
    "OneHot of a real depth": ("OneHot", [np.array([0]), np.array(2.5), np.array([0, 1])], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", MISREAD)
def test_what_the_reference_computes_otherwise_is_not_folded(name):
    op, operands, attrs = MISREAD[name]
    assert folded(op, *operands, **attrs) is None
    if name == "Erf":
        assert folded("Erf", X) is not None


def test_the_reference_quantises_through_int32():
    node = helper.make_node("QuantizeLinear", list("xsz"), ["o"])
    point = [np.array(0.5, np.float32), np.array(3, np.int8)]
    assert fold.fold(node, [np.array([np.inf], np.float32), *point], {"": 19}) is None
    (found,) = fold.fold(node, [np.array([2], np.float32), *point], {"": 19})
    assert found.tolist() == [7]
