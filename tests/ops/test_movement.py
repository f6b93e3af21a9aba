"""Operators that move data, against ONNX Runtime."""

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.frontend.running import assert_close, run
from tests.ops.cases import Weight, check_node, node_model, rand
from tests.ops.packages import check, model
from tvm_megcc.errors import MegccError, UnsupportedError
from tvm_megcc.frontend import from_onnx


def ints(*values):
    return Weight(np.array(values, np.int64))


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps"),
    [
        ([1, 0], [4, 2], [0, 1], [1, 1]),
        ([-3], [2**31], [1], [2]),
        ([4], [-(2**31)], [0], [-1]),
        ([-1], [0], [-1], [-2]),
        ([3], [1], [0], [1]),
        ([0, 5], [9, 1], [2, 1], [1, -2]),
    ],
)
def test_slice(starts, ends, axes, steps):
    check_node("Slice", [rand(5, 6, 4), ints(*starts), ints(*ends), ints(*axes), ints(*steps)], 13)


@pytest.mark.slow
@pytest.mark.parametrize("step", [2**63 - 1, 1 << 62, -(1 << 31), -(2**63)])
@pytest.mark.parametrize("rows", [5, "n"])
def test_slice_by_steps_past_every_dim(rows, step, tmp_path):
    start, end = (1, 2**63 - 1) if step > 0 else (-1, -(2**63))
    names = ["x", "s", "e", "a", "t"]
    weights = [
        numpy_helper.from_array(np.array([v]), n)
        for n, v in zip(names[1:], (start, end, 0, step), strict=True)
    ]
    nodes = [helper.make_node("Slice", names, ["y"])]
    proto = model(nodes, [("x", T.FLOAT, [rows, 2])], [("y", T.FLOAT)], weights)
    check(proto, tmp_path, *({"x": rand(n, 2)} for n in ([5] if rows == 5 else [0, 1, 2, 7])))


def test_slice_by_no_step_is_refused():
    proto, _ = node_model("Slice", [rand(5, 6), ints(0), ints(4), ints(1), ints(0)], 13)
    with pytest.raises(UnsupportedError, match="Slice 'node': its step along axis 1 is 0"):
        from_onnx(proto)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2, "n"])
def test_pad_that_crops_past_the_end(rows, tmp_path):
    """What one side crops more than there is, is taken from the fill of the other one."""
    widths = [(-3, 1), (-3, 3), (3, -4), (1, -3), (-1, 2), (2, -1)]
    nodes = [helper.make_node("Pad", ["x", f"w{k}"], [f"y{k}"]) for k in range(len(widths))]
    weights = [
        numpy_helper.from_array(np.array([a, 0, b, 0]), f"w{k}") for k, (a, b) in enumerate(widths)
    ]
    outputs = [(f"y{k}", T.FLOAT) for k in range(len(widths))]
    proto = model(nodes, [("x", T.FLOAT, [rows, 2])], outputs, weights)
    check(proto, tmp_path, *({"x": rand(n, 2)} for n in ([2] if rows == 2 else [2, 3, 5])))


def test_pad_that_crops_more_than_there_is_is_refused():
    proto, _ = node_model("Pad", [rand(2, 3), ints(-3, 0, 0, 0)], 13)
    with pytest.raises(UnsupportedError, match="Pad 'node': crops 3 elements of dim 0, which is 2"):
        from_onnx(proto)


def test_slice_opset_1():
    check_node("Slice", [rand(5, 6)], 9, starts=[1, -4], ends=[1000, -1], axes=[0, 1])
    check_node("Slice", [rand(5, 6)], 9, starts=[1, 2], ends=[3, 4])


@pytest.mark.parametrize("indices", [3, -1, [0, 2, 4], [2, 2, 0], [[0, -1], [1, 1]], [], [1]])
@pytest.mark.parametrize("axis", [0, -1])
def test_gather_known(indices, axis):
    check_node("Gather", [rand(5, 3, 5), Weight(np.array(indices, np.int64))], 13, axis=axis)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_gather_run_time(dtype):
    check_node("Gather", [rand(5, 3), np.array([[0, -1], [-5, 4]], dtype)], 13)


def test_gather_known_index_outside():
    model, _ = node_model("Gather", [rand(5, 3), ints(5)], 13)
    with pytest.raises(UnsupportedError, match=r"Gather 'node': index outside \[-5, 4\]"):
        from_onnx(model)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad(mode):
    opset = 19 if mode == "wrap" else 13
    check_node("Pad", [rand(2, 4, 5), ints(0, 1, 2, 0, 2, 1)], opset, mode=mode)


def test_pad_forms():
    check_node("Pad", [rand(3, 4)], 2, pads=[1, 0, 0, 2], value=1.5)
    check_node("Pad", [rand(3, 4), ints(1, -1, -1, 2), Weight(2.5, "float32")], 13)
    check_node("Pad", [rand(3, 4), ints(1, 2), Weight(2.5, "float32"), ints(-1)], 18)
    check_node("Pad", [rand(3, 4, dtype="int64"), ints(1, 0, 0, 1), Weight(7, "int64")], 13)
    check_node("Pad", [rand(3, 4, dtype="bool"), ints(1, 0, 0, 1), Weight(True)], 13)
    check_node("Pad", [rand(3, 4), ints(1, 0, 0, 1), Weight(-np.inf, "float32")], 13)


@pytest.mark.parametrize("shape", [(4, 6), (-1, 3), (0, -1), (2, 0, 3, 2), (24,)])
def test_reshape(shape):
    data = rand(2, 12) if shape[0] == 0 else rand(2, 2, 6)
    check_node("Reshape", [data, ints(*shape)], 13)


def test_reshape_of_nothing():
    data = np.zeros((0, 3, 4), np.float32)
    check_node("Reshape", [data, ints(3, 4, 0)], 14, allowzero=1)
    for axis in range(4):
        check_node("Flatten", [data.reshape(3, 0, 4)], 13, axis=axis)


@pytest.mark.parametrize(
    ("target", "allow_zero", "fact"),
    [
        ((5, -1), 0, r"12 elements do not fit into \[5, 2\]"),
        ((-1, -1), 0, "more than one dim open"),
        ((-2, -6), 0, "-6, which is no size"),
        ((2, 6, 0), 0, "an operand of rank 2 lacks"),
        ((0, -1), 1, "which may be any"),
        ((0, 12), 1, r"12 elements do not fit into \[0, 12\]"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(target, allow_zero, fact):
    model, _ = node_model("Reshape", [rand(2, 6), ints(*target)], 14, allowzero=allow_zero)
    with pytest.raises(UnsupportedError, match=f"Reshape 'node': .*{fact}"):
        from_onnx(model)


def test_what_is_left_of_nothing_is_refused():
    model, _ = node_model("Reshape", [np.zeros((0, 6), np.float32), ints(0, -1)], 14)
    with pytest.raises(UnsupportedError, match="Reshape 'node': .*which may be any"):
        from_onnx(model)


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
def test_flatten(axis):
    check_node("Flatten", [rand(2, 3, 4)], 13, axis=axis)


def test_squeeze_and_unsqueeze():
    check_node("Squeeze", [rand(1, 3, 1)], 13)
    check_node("Squeeze", [rand(1, 3, 1), ints(-1)], 13)
    check_node("Squeeze", [rand(1, 3, 1)], 11, axes=[0])
    check_node("Unsqueeze", [rand(3, 2), ints(0, -1)], 13)
    check_node("Unsqueeze", [rand(3, 2)], 11, axes=[1, 0])


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 1), (4,), (2, 1, 3, 1)])
def test_expand(shape):
    check_node("Expand", [rand(3, 1), ints(*shape)] if shape != (4,) else [rand(4), ints(4)], 13)


def test_split_forms():
    check_node("Split", [rand(7, 2), ints(2, 4, 1)], 13, outputs=3)
    check_node("Split", [rand(2, 6)], 11, outputs=2, axis=1, split=[2, 4])
    check_node("Split", [rand(2, 6)], 11, outputs=3, axis=-1)
    check_node("Split", [rand(7, 2)], 18, outputs=3, num_outputs=3)
    with pytest.raises(MegccError, match="Split '.*': num_outputs is 3, and it has 2 results; "):
        from_onnx(node_model("Split", [rand(7, 2)], 18, outputs=2, num_outputs=3)[0])


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("values", ["known", "run time"])
def test_onehot(axis, values):
    pair = np.array([-1.5, 2.5], np.float32)
    pair = Weight(pair) if values == "known" else pair
    indices = np.array([[0, 3, -1], [9, 2, -9]], np.int64)
    check_node("OneHot", [indices, Weight(4, "int64"), pair], 11, axis=axis)


@pytest.mark.parametrize("depth", [0, -3])
def test_onehot_of_no_depth(depth):
    operands = [np.array([0, 1, 2]), Weight(np.array(depth)), np.array([0, 1], np.float32)]
    with pytest.raises(MegccError, match=f"OneHot '.*': .*depth.* {depth}.*; "):
        from_onnx(node_model("OneHot", operands, 11)[0])


@pytest.mark.parametrize("lengths", [[4, 4, 4], [1, 4, 2]])
def test_reversesequence(lengths):
    operands = [rand(4, 3, 2), ints(*lengths)]
    check_node("ReverseSequence", operands, 10, time_axis=0, batch_axis=1)


def test_constantofshape_too_large_to_fold():
    check_node("ConstantOfShape", [ints(1200, 1000)], 9)


@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
def test_bools_are_scattered_as_numpy_reduces_them(op, reduction):
    """ONNX Runtime has no kernel."""
    indices = np.array([[0], [2], [2], [0]])
    updates = np.array([[False], [True], [False], [True]])
    data = rand(4, 1, dtype="bool", seed=3)
    model, feeds = node_model(op, [data, indices, updates], 18, reduction=reduction)
    want = ReferenceEvaluator(model).run(None, feeds)
    assert_close(run(from_onnx(model), feeds), want)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("dims", "axes", "wanted"),
    [
        ((5, 6), None, (3, 9)),
        ((5, 6), [1], (7,)),
        ((4, 7, 2), [-1, 0], (5, 1)),
        ((7, 3), [0], (4,)),
        ((4,), None, (0,)),
    ],
)
def test_center_crop_pad(dims, axes, wanted, known):
    sizes = np.array(wanted, np.int64)
    attrs = {} if axes is None else {"axes": axes}
    check_node("CenterCropPad", [rand(*dims), Weight(sizes) if known else sizes], 18, **attrs)
