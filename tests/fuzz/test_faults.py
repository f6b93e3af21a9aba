"""Each fault that an evaluator is said to have is still there: else nobody need leave it out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tests.fuzz import evaluate, faults
from tests.fuzz.evaluate import Array, Refused

ROW = np.array([[1, 5, 2], [4, 3, 9]], np.float32)
#: What the evaluator gives -> whether that is wrong.
Wrong = Callable[[Array], bool]


def node(op: str, inputs: str, **attrs: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs.split(), ["y"], **attrs)


OF_ORT: dict[str, tuple[onnx.NodeProto, dict[str, Array], Wrong]] = {
    "NonZero": (node("NonZero", "x"), {"x": np.array(3, np.float32)}, lambda y: y.shape != (0, 1)),
    "LSTM": (
        helper.make_node("LSTM", ["x", "w", "r", "", "", "h"], ["", "y"], hidden_size=1),
        {
            "x": np.ones((0, 1, 1), np.float32),
            **{n: np.ones((1, 4, 1), np.float32) for n in "wr"},
            "h": np.ones((1, 1, 1), np.float32),
        },
        lambda y: bool((y != 1).all()),
    ),
    "DynamicQuantizeLSTM": (
        helper.make_node(
            "DynamicQuantizeLSTM", ["x", "w", "r", "", "", "h", "", "", "s", "z", "s", "z"],
            ["", "y"], hidden_size=1, domain="com.microsoft",
        ),
        {
            "x": np.ones((0, 1, 1), np.float32),
            **{n: np.ones((1, 1, 4), np.int8) for n in "wr"},
            "h": np.ones((1, 1, 1), np.float32),
            "s": np.ones(1, np.float32),
            "z": np.zeros(1, np.int8),
        },
        lambda y: bool((y != 1).all()),
    ),
    "Unique": (
        node("Unique", "x", sorted=0),
        {"x": np.array([1, np.nan], np.float32)},
        lambda y: y.size != 2,
    ),
    "MaxUnpool": (
        node("MaxUnpool", "x i s", kernel_shape=[2, 2]),
        {
            "x": np.ones((1, 1, 1, 1), np.float32),
            "i": np.array([[[[3]]]]),
            "s": np.array([1, 1, 3, 3]),
        },
        lambda y: y[0, 0, 1, 1] != 1,
    ),
    "Normalizer": (
        helper.make_node("Normalizer", ["x"], ["y"], norm="L2", domain="ai.onnx.ml"),
        {"x": np.array([[3 * 2**32, 2**34]])},
        lambda y: not np.allclose(y, [0.6, 0.8]),
    ),
    "LRN": (
        node("LRN", "x", size=1),
        {"x": np.array([[np.inf, 1]], np.float32).reshape(1, 2, 1, 1)},
        lambda y: bool(np.isnan(y[0, 1]).all()),
    ),
    "Resize": (
        helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear", antialias=1),
        {"x": np.full((1, 1, 2, 4), -9, np.int8), "s": np.array([1, 1, 1, 0.5], np.float32)},
        lambda y: bool((y != -9).all()),
    ),
    "ReduceLogSumExp": (
        node("ReduceLogSumExp", "x"), {"x": np.array([-1, -3])}, lambda y: y.item() != 0
    ),
    "ReduceSum": (
        node("ReduceSum", "x"), {"x": np.array([2**62 + 1, 2**62, -(2**62)])},
        lambda y: y.item() != 2**62 + 1,
    ),
    "ReduceProd": (
        node("ReduceProd", "x"), {"x": np.full(3, 2**20 + 1, np.int32)},
        lambda y: y.item() != 3 * 2**20 + 1,
    ),
    "Pow": (
        node("Pow", "x n"), {"x": np.array([50], np.int32), "n": np.array([7], np.int32)},
        lambda y: int(y[0]) % 2**32 != 50**7 % 2**32,
    ),
}  # fmt: skip
OF_REFERENCE: dict[str, tuple[onnx.NodeProto, int, dict[str, Array], Wrong]] = {
    "Pad": (
        node("Pad", "x w", mode="reflect"), 17, {"x": np.arange(4), "w": np.array([-1, 1])},
        lambda y: list(y) != [1, 2, 3, 2],
    ),
    "QuantizeLinear": (
        node("QuantizeLinear", "x s z"), 17,
        {"x": np.array([np.inf], "f4"), "s": np.array(1, "f4"), "z": np.array(0, "i1")},
        lambda y: y[0] != 127,
    ),
    "ConvTranspose": (
        node("ConvTranspose", "x w", auto_pad="SAME_UPPER", strides=[3]), 18,
        {"x": np.ones((1, 1, 2), np.float32), "w": np.ones((1, 1, 1), np.float32)},
        lambda y: bool(y[0, 0, 0] != 1),
    ),
    "Unique": (
        helper.make_node("Unique", ["x"], ["y", "i"], axis=1, sorted=0), 17,
        {"x": np.arange(6).reshape(3, 2)}, lambda y: y.shape != (3, 2),
    ),
    "Mean": (node("Mean", "x z"), 17, {"x": np.ones(1), "z": ROW}, lambda y: y.shape != (2, 3)),
    "Normalizer": (
        helper.make_node("Normalizer", ["x"], ["y"], norm="L1", domain="ai.onnx.ml"), 17,
        {"x": np.ones((1, 2), np.int64)}, lambda y: y.dtype != np.float32,
    ),
    "LinearRegressor": (
        helper.make_node("LinearRegressor", ["x"], ["y"], coefficients=[1.0, 2.0, 0.5],
                         domain="ai.onnx.ml"), 17, {"x": ROW}, lambda y: bool(np.isnan(y).all()),
    ),
    "LpNormalization": (
        node("LpNormalization", "x", p=1), 17, {"x": np.array([-2, 1, 1], np.float32)},
        lambda y: not np.allclose(y, [-0.5, 0.25, 0.25]),
    ),
    "OneHotEncoder": (
        helper.make_node("OneHotEncoder", ["x"], ["y"], cats_int64s=[1, 2], domain="ai.onnx.ml"),
        17, {"x": np.array([1.5], np.float32)}, lambda y: y[0, 0] != 1,
    ),
    "OneHotEncoder_twice": (
        helper.make_node("OneHotEncoder", ["x"], ["y"], cats_int64s=[1, 1], domain="ai.onnx.ml"),
        17, {"x": np.array([2])}, lambda y: y.shape != (1, 2),
    ),
    "GlobalMaxPool": (node("GlobalMaxPool", "x"), 17, {"x": ROW[None]}, lambda y: y.ndim != 3),
    "QLinearConv": (
        node("QLinearConv", "x s z w t u s z"), 17,
        {"x": np.ones((1, 1, 3), np.uint8), "s": np.array(1, "f4"), "z": np.array(0, np.uint8),
         "w": np.ones((2, 1, 1), np.int8), "t": np.array([1, 3], "f4"), "u": np.zeros(2, np.int8)},
        lambda y: y.shape != (1, 2, 3),
    ),
    "ConvTranspose_biases": (
        node("ConvTranspose", "x w b", auto_pad="SAME_LOWER", group=2), 18,
        {"x": np.zeros((1, 2, 2), "f4"), "w": np.ones((2, 1, 1), "f4"),
         "b": np.array([1, 2], "f4")},
        lambda y: y[0, 1, 0] != 2,
    ),
    "AveragePool": (
        node("AveragePool", "x", kernel_shape=[3], dilations=[2], strides=[3], pads=[1, 1],
             ceil_mode=1), 19, {"x": np.arange(7.0).reshape(1, 1, 7)}, lambda y: y[0, 0, 0] != 2,
    ),
    "LpPool": (
        node("LpPool", "x", kernel_shape=[3], strides=[3], ceil_mode=1, p=1), 18,
        {"x": np.arange(4.0).reshape(1, 1, 4)}, lambda y: y[0, 0, 0] != 3,
    ),
    "Unique_alone": (
        node("Unique", "x", sorted=0), 17, {"x": np.array([3, 1, 2])}, lambda y: y[0] != 3
    ),
}  # fmt: skip


OPSETS = {"": 19, "ai.onnx.ml": 3}


@pytest.mark.parametrize("name", OF_ORT)
def test_onnx_runtime_is_still_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, feed, wrong = OF_ORT[name]
    with pytest.raises(Refused) as caught:
        evaluate.by_ort(made, OPSETS, feed)
    assert caught.value.missing
    monkeypatch.setattr(faults, "of_ort", lambda *_: "")
    assert wrong(evaluate.by_ort(made, OPSETS, feed)[0])


@pytest.mark.parametrize("name", OF_REFERENCE)
def test_the_reference_is_still_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, opset, feed, wrong = OF_REFERENCE[name]
    with pytest.raises(Refused) as caught:
        evaluate.by_reference(made, {"": opset}, feed)
    assert caught.value.missing
    monkeypatch.setattr(faults, "of_reference", lambda *_: "")
    try:
        found = evaluate.by_reference(made, {"": opset}, feed)[0]
    except Refused as refusal:
        assert not refusal.missing  # it calls the node an error, which it is not
    else:
        assert wrong(found)


def test_a_same_convolution_is_as_long_as_onnx_says() -> None:
    made = node("ConvTranspose", "x w", auto_pad="SAME_UPPER", strides=[3])
    feed = {"x": np.ones((1, 1, 2), np.float32), "w": np.ones((1, 1, 1), np.float32)}
    (found,) = evaluate.by_ort(made, {"": 18}, feed)
    np.testing.assert_array_equal(found.reshape(-1), [1, 0, 0, 1, 0, 0])


@pytest.mark.parametrize("op", ["Hardmax", "LogSoftmax", "Softmax"])
def test_axes_are_one_before_opset_13(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, feed = node(op, "x", axis=0), {"x": ROW}
    (want,), (found,) = (e(made, {"": 12}, feed) for e in (evaluate.by_ort, evaluate.by_reference))
    np.testing.assert_allclose(found, want, rtol=1e-5)
    monkeypatch.setattr(faults, "flattened", lambda *_: None)
    assert not np.allclose(evaluate.by_reference(made, {"": 12}, feed)[0], want)


def test_memory_may_lie_in_any_order() -> None:
    """A transposed array of NumPy is one of other strides: ONNX Runtime knows none."""
    feed = {"x": np.asfortranarray(ROW)}
    for found in evaluate.by_ort(node("Neg", "x"), {"": 19}, feed):
        np.testing.assert_array_equal(found, -ROW)


@pytest.mark.parametrize("more", [{}, {"axes": [1]}])
def test_corners_are_those_of_a_length_that_is_an_integer(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear",
                            coordinate_transformation_mode="align_corners", **more)  # fmt: skip
    scales = np.array([1.5] if more else [1, 1.5], np.float32)
    feed = {"x": np.array([[1, 5, 2]], np.float32), "s": scales}
    (want,), (found,) = (e(made, {"": 19}, feed) for e in (evaluate.by_ort, evaluate.by_reference))
    np.testing.assert_allclose(found, want, rtol=1e-6)
    monkeypatch.setattr(faults, "for_reference", lambda *given: given)
    assert not np.allclose(evaluate.by_reference(made, {"": 19}, feed)[0], want)


@pytest.mark.parametrize("axes", [[-2, -1], [3, 0]])
def test_axes_are_those_of_the_result(axes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    made, feed = node("Unsqueeze", "x", axes=axes), {"x": ROW}
    (want,), (found,) = (e(made, {"": 11}, feed) for e in (evaluate.by_ort, evaluate.by_reference))
    assert found.shape == want.shape
    monkeypatch.setattr(faults, "_in_order", lambda made, _: made)
    with contextlib.suppress(Refused):
        assert evaluate.by_reference(made, {"": 11}, feed)[0].shape != want.shape


def test_regions_have_half_a_pixel_more_before_opset_16(monkeypatch: pytest.MonkeyPatch) -> None:
    made = node("RoiAlign", "x r i", output_height=2, output_width=2, sampling_ratio=2)
    rng = np.random.default_rng(2)
    feed = {"x": rng.random((1, 1, 5, 5), np.float32), "i": np.zeros(1, np.int64),
            "r": np.array([[0.5, 1, 3, 4]], np.float32)}  # fmt: skip
    (want,), (found,) = (e(made, {"": 10}, feed) for e in (evaluate.by_ort, evaluate.by_reference))
    np.testing.assert_allclose(found, want, rtol=1e-5)
    monkeypatch.setattr(faults, "half_pixel", lambda *_: None)
    assert not np.allclose(evaluate.by_reference(made, {"": 10}, feed)[0], want)


@pytest.mark.parametrize(("far", "is_lacking"), [(4.0, False), (1e6, True), (np.inf, True)])
def test_the_reference_takes_no_wide_regions(far: float, is_lacking: bool) -> None:
    """It would have all samples of them in memory."""
    made = node("RoiAlign", "x r i", output_height=2, output_width=2)
    feed = {"x": np.ones((1, 1, 5, 5), np.float32), "i": np.zeros(1, np.int64),
            "r": np.array([[0, 0, 1, 1], [-far, 0, far, far]], np.float32)}  # fmt: skip
    assert bool(faults.of_reference(made, feed)) == is_lacking


def test_the_reference_has_so_much_memory() -> None:
    """What needs more is a node that it does not evaluate; no error, and not the fuzzer's end."""
    feed = {"x": np.ones(1, np.int8), "s": np.array([evaluate.MOST_MEMORY])}
    with pytest.raises(Refused, match="MemoryError") as caught:
        evaluate.by_reference(node("Expand", "x s"), {"": 17}, feed)
    assert caught.value.missing


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("order", [0, 1])
def test_places_are_those_of_the_whole_tensor(rank: int, order: int) -> None:
    made = helper.make_node(
        "MaxPool",
        ["x"],
        ["y", "i"],
        kernel_shape=[2] * rank,
        storage_order=order,
        strides=[2] * rank,
    )
    feed = {"x": np.random.default_rng(3).random((2, 3, *[4] * rank), np.float32)}
    want, found = (e(made, {"": 12}, feed) for e in (evaluate.by_ort, evaluate.by_reference))
    np.testing.assert_array_equal(found[1], want[1])


def test_places_of_dense_windows_are_not_the_references(monkeypatch: pytest.MonkeyPatch) -> None:
    made = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2])
    feed = {"x": np.random.default_rng(3).random((2, 3, 4, 4), np.float32)}
    (_, want) = evaluate.by_ort(made, {"": 17}, feed)
    with pytest.raises(Refused, match="places"):
        evaluate.by_reference(made, {"": 17}, feed)
    monkeypatch.setattr(faults, "of_reference", lambda *_: "")
    assert (evaluate.by_reference(made, {"": 17}, feed)[1] != want).any()


@pytest.mark.parametrize("op", ["AveragePool", "LpPool", "MaxPool"])
@pytest.mark.parametrize("side", ["SAME_UPPER", "SAME_LOWER"])
def test_a_same_pool_has_as_many_windows_as_strides(op: str, side: str) -> None:
    made = node(op, "x", kernel_shape=[2, 3], strides=[2, 1], dilations=[1, 2], auto_pad=side)
    feed = {"x": np.random.default_rng(1).random((1, 2, 5, 7), np.float32)}
    found = [f(made, {"": 22}, feed)[0] for f in (evaluate.by_ort, evaluate.by_reference)]
    assert found[0].shape == (1, 2, 3, 7)
    np.testing.assert_allclose(*found, rtol=1e-6)


@pytest.mark.parametrize("op", ["AveragePool", "LpPool", "MaxPool"])
def test_a_same_pool_may_step_past_its_windows(op: str) -> None:
    """A total padding below 0 is none; the reference pads by it."""
    made = node(op, "x", kernel_shape=[1], strides=[3], auto_pad="SAME_UPPER")
    x = np.array([[[1, 5, 2, 4, 7]]], np.float32)
    (y,) = evaluate.by_reference(made, {"": 22}, {"x": x})
    np.testing.assert_array_equal(y, x[..., ::3])


def test_integers_that_do_not_fit_are_seen_in_bodies() -> None:
    """ONNX Runtime's ReduceL1 gives the largest there is."""
    body = helper.make_graph(
        [node("ReduceL1", "x")], "body", [],
        [helper.make_tensor_value_info("y", onnx.TensorProto.INT32, [1])],
    )  # fmt: skip
    made = helper.make_node("If", ["c"], ["z"], then_branch=body, else_branch=body)
    feed = {"c": np.array(True), "x": np.array([2**30, 2**30], np.int32)}
    with pytest.raises(evaluate.Refused, match="low bits"):
        evaluate.by_ort(made, {"": 13}, feed)
    feed["x"] = feed["x"] - 1
    assert evaluate.by_ort(made, {"": 13}, feed)[0].item() == 2**31 - 2


@pytest.mark.parametrize("op", ["AveragePool", "LpPool", "MaxPool"])
def test_a_valid_pool_has_the_windows_that_its_dilations_leave(op: str) -> None:
    made = node(op, "x", kernel_shape=[3], dilations=[2], auto_pad="VALID")
    feed = {"x": np.random.default_rng(1).random((1, 2, 7), np.float32)}
    found = [f(made, {"": 22}, feed)[0] for f in (evaluate.by_ort, evaluate.by_reference)]
    assert found[0].shape == (1, 2, 3)
    np.testing.assert_allclose(*found, rtol=1e-6)


@pytest.mark.parametrize("op", ["AveragePool", "LpPool", "MaxPool"])
def test_a_window_that_does_not_fit_is_none(op: str) -> None:
    made = node(op, "x", kernel_shape=[2], strides=[2])
    with pytest.raises(evaluate.Refused, match="shorter"):
        evaluate.by_ort(made, {"": 18}, {"x": np.ones((1, 1, 1), np.float32)})
    for more in ({"pads": [0, 1]}, {"pads": [1, 0]}, {"ceil_mode": 1}):
        padded = node(op, "x", kernel_shape=[2], strides=[2], **more)
        feed = {"x": np.ones((1, 1, 1), np.float32)}
        assert evaluate.by_ort(padded, {"": 18}, feed)[0].shape == (1, 1, 1)


def test_a_window_that_does_not_fit_is_none_of_no_images() -> None:
    made = helper.make_node(
        "NhwcMaxPool", ["x"], ["y"], domain="com.microsoft", kernel_shape=[1, 2], strides=[2, 2],
        pads=[0, 1, 0, 0],
    )  # fmt: skip
    with pytest.raises(evaluate.Refused, match="shorter"):
        evaluate.by_ort(made, {"": 18, "com.microsoft": 1}, {"x": np.ones((0, 0, 0, 6), np.int8)})


@pytest.mark.parametrize(("op", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_long_sequences_are_left_to_onnx_runtime(op: str, gates: int) -> None:
    made = helper.make_node(op, ["x", "w", "r"], ["y"], hidden_size=1)
    feed = {"x": np.ones((1 << 17, 1, 1), np.float32)}
    feed |= {name: np.ones((1, gates, 1), np.float32) for name in "wr"}
    with pytest.raises(evaluate.Refused, match="minutes"):
        evaluate.by_reference(made, {"": 17}, feed)
    assert len(evaluate.by_ort(made, {"": 17}, feed)[0]) == 1 << 17


def test_dilated_weights_are_not_filled() -> None:
    made = node("Conv", "x w", dilations=[2])
    values = {"x": np.array([[[1, np.inf, 2]]]), "w": np.ones((1, 1, 2))}
    with pytest.raises(evaluate.Refused, match="zeros"):
        evaluate.by_reference(made, {"": 22}, values)
    (found,) = evaluate.by_ort(made, {"": 22}, {k: v.astype("f4") for k, v in values.items()})
    assert found.tolist() == [[[3]]]


def test_softplus_of_large_numbers_is_finite() -> None:
    made = node("RNN", "x w r", hidden_size=1, activations=["Softplus"])
    feed = {"x": np.full((1, 1, 1), 100, np.float32)}
    feed |= {name: np.ones((1, 1, 1), np.float32) for name in "wr"}
    with pytest.raises(Refused, match="Softplus"):
        evaluate.by_ort(made, {"": 18}, feed)
    (found,) = evaluate.by_reference(made, {"": 18}, feed)
    assert found.item() == 100


def test_two_classes_are_not_numbered() -> None:
    labels = helper.make_node("TreeEnsembleClassifier", ["x"], ["y"], classlabels_int64s=[6, 8])
    feed = {"x": np.ones((2, 3), np.float32)}
    for found, text in (([6, 1], "it numbers two classes, whatever they are called"), ([6, 8], "")):
        assert faults.of_answer(labels, onnx.ModelProto(), feed, [np.array(found)]) == text


def stump(op: str, votes: str, **more: Any) -> onnx.NodeProto:
    """A tree of one comparison; both of its leaves are of target or class 0."""
    votes_of = {"treeids": [0, 0], "nodeids": [1, 2], "ids": [0, 0], "weights": [2.0, 3.0]}
    return helper.make_node(
        op, ["x"], ["y"] if votes == "target" else ["y", "z"], domain="ai.onnx.ml",
        nodes_treeids=[0] * 3, nodes_nodeids=[0, 1, 2],
        nodes_featureids=[0] * 3, nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_values=[0.5, 0, 0], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
        **{f"{votes}_{key}": value for key, value in votes_of.items()}, **more,
    )  # fmt: skip


def test_one_class_has_one_score() -> None:
    made = stump("TreeEnsembleClassifier", "class", classlabels_int64s=[0])
    feed = {"x": np.zeros((1, 1), np.float32)}
    with pytest.raises(Refused, match="one class"):
        evaluate.by_reference(made, OPSETS, feed)


def test_a_base_value_counts_without_leaves() -> None:
    made = stump("TreeEnsembleRegressor", "target", n_targets=2, aggregate_function="MAX",
                 base_values=[1.0, 5.0])  # fmt: skip
    with pytest.raises(Refused, match="base value"):
        evaluate.by_ort(made, OPSETS, {"x": np.zeros((1, 1), np.float32)})


def test_a_target_of_no_leaf_has_no_extreme() -> None:
    made = stump("TreeEnsembleRegressor", "target", n_targets=2, aggregate_function="MIN")
    feed = {"x": np.zeros((1, 1), np.float32)}
    assert evaluate.by_ort(made, OPSETS, feed)[0].tolist() == [[2, 0]]
    with pytest.raises(Refused, match="no leaf"):
        evaluate.by_reference(made, OPSETS, feed)


def test_the_reference_stacks_numbers_as_a_column() -> None:
    """Of a body with sequences, which is evaluated by the reference whole."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["keep"], ["go"]), helper.make_node("Abs", ["x"], ["y"])],
        "body",
        [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
         helper.make_tensor_value_info("keep", onnx.TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("go", onnx.TensorProto.BOOL, []),
         helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [])],
    )  # fmt: skip
    made = helper.make_node("Loop", ["n", "c"], ["y"], body=body)
    ports = [
        helper.make_tensor_value_info(name, kind, [])
        for name, kind in (("n", 7), ("c", 9), ("x", 1))
    ]
    graph = helper.make_graph([made], "loop", ports, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    feed = {"n": np.array(3), "c": np.array(True), "x": np.array(-2, np.float32)}
    (found,) = ReferenceEvaluator(model).run(None, feed)
    assert found.shape == (3, 1) and faults.of_reference_answer(made, [found])
    assert not faults.of_reference_answer(made, [found[:, 0]])
