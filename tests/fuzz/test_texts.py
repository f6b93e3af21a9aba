"""The texts are what ONNX Runtime computes, wherever it is not wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.fuzz import evaluate, texts
from tests.fuzz.evaluate import Array

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
LAYERS: dict[str, tuple[str, dict[str, Any]]] = {
    "lstm": ("LSTM", {}),
    "lstm_both": ("LSTM", {"direction": "bidirectional", "clip": 0.5}),
    "lstm_forget": ("LSTM", {"input_forget": 1, "direction": "reverse"}),
    "lstm_names": ("LSTM", {"activations": ["HardSigmoid", "Softsign", "Relu"], "clip": 0.75}),
    "gru": ("GRU", {"direction": "reverse"}),
    "gru_late": ("GRU", {"linear_before_reset": 1, "direction": "bidirectional"}),
    "gru_names": ("GRU", {"activations": ["Softsign", "Relu"], "clip": 0.75}),
    "rnn": ("RNN", {"direction": "bidirectional", "activations": ["Relu", "Tanh"], "clip": 0.5}),
}


def _f32(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("more", [False, True])
def test_layer(name: str, more: bool) -> None:
    op, attrs = LAYERS[name]
    rng, gates = np.random.default_rng(1), _GATES[op]
    sides = 2 if attrs.get("direction") == "bidirectional" else 1
    feed = {
        "x": _f32(rng, 4, 2, 3),
        "w": _f32(rng, sides, gates * 5, 3),
        "r": _f32(rng, sides, gates * 5, 5),
        "b": _f32(rng, sides, gates * 10),
    }
    names = ["x", "w", "r", "b"]
    if more:
        feed |= {"l": np.array([2, 4], np.int32), "h": _f32(rng, sides, 2, 5)}
        names += ["l", "h"]
        if op == "LSTM":
            feed |= {"c": _f32(rng, sides, 2, 5), "p": _f32(rng, sides, 15)}
            names += ["c", "p"]
    outputs = ["y", "yh", "yc"][: 3 if op == "LSTM" else 2]
    made = helper.make_node(op, names, outputs, hidden_size=5, **attrs)
    assert texts.has(made, feed)
    for found, want in zip(
        texts.run(made, feed), evaluate.by_ort(made, {"": 14}, feed), strict=True
    ):
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_lrn(size: int) -> None:
    feed = {"x": _f32(np.random.default_rng(1), 2, 5, 3, 2)}
    made = helper.make_node("LRN", ["x"], ["y"], size=size, alpha=0.5, beta=0.6, bias=0.8)
    (found,), (want,) = texts.run(made, feed), evaluate.by_ort(made, {"": 14}, feed)
    np.testing.assert_allclose(found, want, rtol=1e-5)


@pytest.mark.parametrize("axes", [None, [1], [-3, 3]])
def test_normalised(axes: list[int] | None) -> None:
    feed = {"x": _f32(np.random.default_rng(1), 2, 5, 3, 2)}
    made = helper.make_node("MeanVarianceNormalization", ["x"], ["y"], axes=axes)
    (found,), (want,) = texts.run(made, feed), evaluate.by_ort(made, {"": 14}, feed)
    np.testing.assert_allclose(found, want, rtol=1e-3, atol=1e-6)


def test_fast_gelu() -> None:
    feed = {"x": _f32(np.random.default_rng(1), 9, 5), "b": _f32(np.random.default_rng(2), 5)}
    made = helper.make_node("FastGelu", ["x", "b"], ["y"], domain="com.microsoft")
    (found,), (want,) = (
        texts.run(made, feed),
        evaluate.by_ort(made, {"": 14, "com.microsoft": 1}, feed),
    )
    np.testing.assert_allclose(found, want, atol=3e-7)


@pytest.mark.parametrize("op", ["Gelu", "BiasGelu"])
def test_gelu(op: str) -> None:
    feed = {"x": _f32(np.random.default_rng(1), 9, 5), "b": _f32(np.random.default_rng(2), 5)}
    names = ["x"] if op == "Gelu" else ["x", "b"]
    made = helper.make_node(op, names, ["y"], domain="com.microsoft")
    (found,), (want,) = (
        texts.run(made, feed),
        evaluate.by_ort(made, {"": 14, "com.microsoft": 1}, feed),
    )
    assert texts.has(made, feed)
    np.testing.assert_allclose(found, want, atol=3e-7)


@pytest.mark.parametrize(
    ("shape", "attrs"),
    [
        ((4, 2, 3), {}),
        ((4, 2, 3), {"strides": [2], "pads": [1, 0], "output_padding": [1]}),
        ((4, 3, 3, 2), {"strides": [3, 2], "dilations": [1, 3], "pads": [0, 2, 1, 0]}),
        ((4, 3, 2, 2), {"group": 2, "strides": [1, 2], "auto_pad": "VALID"}),
    ],
)
@pytest.mark.parametrize("bias", [False, True])
def test_conv_transpose(shape: tuple[int, ...], attrs: dict[str, Any], bias: bool) -> None:
    rng = np.random.default_rng(1)
    feed = {"x": _f32(rng, 2, 4, *[5, 6][: len(shape) - 2]), "w": _f32(rng, *shape)}
    if bias:
        feed["b"] = _f32(rng, shape[1] * attrs.get("group", 1))
    made = helper.make_node("ConvTranspose", list(feed), ["y"], **attrs)
    (found,), (want,) = texts.run(made, feed), evaluate.by_ort(made, {"": 14}, feed)
    assert texts.has(made, feed)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


def test_conv_transpose_of_no_pixels() -> None:
    """There are ``(0 - 1) * stride + (kernel - 1) * dilation + 1`` elements, all of them biases."""
    feed = {"x": np.zeros((2, 4, 0, 3), "f4"), "w": np.ones((4, 1, 3, 2), "f4")}
    feed["b"] = np.array([1, 2], "f4")
    made = helper.make_node(
        "ConvTranspose", list(feed), ["y"], group=2, strides=[3, 1], dilations=[4, 1]
    )
    (found,) = texts.run(made, feed)
    assert texts.has(made, feed)
    np.testing.assert_array_equal(found, np.tile([[[[1]], [[2]]]], (2, 1, 6, 4)))


def test_gelu_by_tanh() -> None:
    """ONNX's, without the cancellation of ``1 + tanh(t)`` at the far left."""
    feed = {"x": np.append(_f32(np.random.default_rng(1), 9), np.float32(-7.94))}
    made = helper.make_node("Gelu", ["x"], ["y"], approximate="tanh")
    (found,), (want,) = texts.run(made, feed), evaluate.by_ort(made, {"": 20}, feed)
    assert texts.has(made, feed)
    np.testing.assert_allclose(found, want, atol=3e-7)
    assert -1e-19 < found[-1] < 0


@pytest.mark.parametrize("kind", ["Relu", "LeakyRelu", "Sigmoid", "Tanh"])
def test_fused_gemm(kind: str) -> None:
    """com.microsoft's, whose sigmoid is no 0 of what is left of -18."""
    rng = np.random.default_rng(1)
    feed = {n: _f32(rng, *shape) for n, shape in (("a", (4, 3)), ("b", (3, 5)), ("c", (5,)))}
    slope = {"activation_alpha": 0.25} if kind == "LeakyRelu" else {}
    made = helper.make_node(
        "FusedGemm", [*"abc"], ["y"], domain="com.microsoft", activation=kind, alpha=2.0, **slope
    )
    (found,), (want,) = texts.run(made, feed), evaluate.by_ort(made, {"": 14}, feed)
    assert texts.has(made, feed)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)
    feed["c"] = np.full(5, -50, np.float32)
    assert kind != "Sigmoid" or (texts.run(made, feed)[0] > 0).all()


@pytest.mark.parametrize("opset", [9, 13, 15])
def test_batch_normalised(opset: int) -> None:
    rng = np.random.default_rng(1)
    feed = {"x": _f32(rng, 2, 3, 4), **{n: abs(_f32(rng, 3)) for n in "sbmv"}}
    made = helper.make_node("BatchNormalization", ["x", *"sbmv"], ["y"], epsilon=1e-2)
    (found,), (want,) = texts.run(made, feed), evaluate.by_ort(made, {"": opset}, feed)
    assert texts.has(made, feed)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


def test_equal_halves_have_no_deviation() -> None:
    feed = {"x": np.full((1, 1, 1, 1), -0.7183, np.float16)}
    made = helper.make_node("MeanVarianceNormalization", ["x"], ["y"])
    assert texts.run(made, feed)[0] == 0


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_hot(axis: int) -> None:
    values = np.array([-0.5, -np.inf], np.float32)
    feed = {"i": np.array([[0, -1, 5], [2, -4, 1]]), "d": np.array(3), "v": values}
    made = helper.make_node("OneHot", ["i", "d", "v"], ["y"], axis=axis)
    (found,), (want,) = texts.run(made, feed), evaluate.by_ort(made, {"": 14}, feed)
    np.testing.assert_array_equal(found, want)


def test_one_hot_of_real_indices() -> None:
    """ONNX: "the values will be casted to int64 before use"."""
    feed = {"i": np.array([0.5, -0.5, 1.9, -1.9], np.float32), "d": np.array(2), "v": np.arange(2)}
    made = helper.make_node("OneHot", ["i", "d", "v"], ["y"])
    (found,) = evaluate.by_reference(made, {"": 14}, feed)
    assert found.tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]


def test_power_of_integers() -> None:
    made = helper.make_node("Pow", ["x", "y"], ["z"])
    bases, exponents = np.meshgrid(np.array([-3, -1, 1, 2, 5], np.int32), np.arange(-3, 6))
    feed = {"x": bases, "y": exponents}
    (found,), (want,) = texts.run(made, feed), evaluate.by_ort(made, {"": 15}, feed)
    np.testing.assert_array_equal(found, want)
    assert found.dtype == want.dtype
    large = {"x": np.array([2**60 + 1, 3**39]), "y": np.array([1, 2], np.uint8)}
    assert texts.run(made, large)[0].tolist() == [2**60 + 1, 3**78 % 2**64 - 2**64]


def test_gemm_of_large_integers() -> None:
    feed = {"a": np.array([[3, -1]]), "b": np.array([[1, 2]]), "c": np.array([7161820305378072347])}
    made = helper.make_node("Gemm", ["a", "b", "c"], ["y"], transB=1, alpha=2.0)
    (found,) = texts.run(made, feed)
    assert found.tolist() == [[7161820305378072349]]


@pytest.mark.parametrize("attrs", [{}, {"axis": 0}, {"axis": 1}])
@pytest.mark.parametrize("ordered", [0, 1])
def test_unique(attrs: dict[str, int], ordered: int) -> None:
    feed = {"x": np.array([[3, 1, 3], [0, 2, 0], [3, 1, 3]], np.float32)}
    made = helper.make_node("Unique", ["x"], ["y", "i", "b", "c"], sorted=ordered, **attrs)
    for found, want in zip(
        texts.run(made, feed), evaluate.by_ort(made, {"": 14}, feed), strict=True
    ):
        np.testing.assert_array_equal(found, want)
        assert found.dtype == want.dtype


def test_nan_is_one_element() -> None:
    made = helper.make_node("Unique", ["x"], ["y", "", "b"], sorted=0)
    found, back = texts.run(made, {"x": np.array([np.nan, 1, np.nan, -np.inf], np.float32)})
    np.testing.assert_array_equal(found, [np.nan, 1, -np.inf])
    assert back.tolist() == [0, 1, 0, 2]


def test_a_position_that_is_not_there_is_an_error() -> None:
    made = helper.make_node("GatherElements", ["x", "i"], ["y"], axis=-1)
    x = np.arange(6, dtype=np.int8).reshape(2, 3)
    (found,) = texts.run(made, {"x": x, "i": np.array([[-3, 2]])})
    assert found.tolist() == [[0, 2]] and found.dtype == np.int8
    for indices in ([[3]], [[-4]], [[-(2**63)]], [[0], [0], [0]], [0]):
        with pytest.raises(evaluate.Refused):
            evaluate.by_reference(made, {"": 18}, {"x": x, "i": np.array(indices)})


def test_erf_is_no_f32_of_f64() -> None:
    made = helper.make_node("Erf", ["x"], ["y"])
    (found,) = texts.run(made, {"x": np.array([0.3])})
    assert found.dtype == np.float64 and found != np.float32(found)


@pytest.mark.parametrize(("op", "whole"), [("AveragePool", 3.5), ("LpPool", 5), ("MaxPool", 4)])
def test_a_window_with_nan_is_nan(op: str, whole: float) -> None:
    x = np.array([1, np.nan, 3, 4, 4, np.nan], np.float32).reshape(1, 1, 6)
    made = helper.make_node(op, ["x"], ["y"], kernel_shape=[2], strides=[2])
    for evaluator in (evaluate.by_ort, evaluate.by_reference):
        (found,) = evaluator(made, {"": 18}, {"x": x})
        np.testing.assert_array_equal(found.reshape(-1), [np.nan, whole, np.nan])


def test_what_has_no_weight_is_not_read() -> None:
    x = np.array([[1, 2, np.nan, 4]], np.float32)
    made = helper.make_node("Resize", ["x", "", "s"], ["y"], mode="cubic",
                            coordinate_transformation_mode="asymmetric")  # fmt: skip
    feed = {"x": x, "s": np.array([1, 2], np.float32)}
    (found,) = evaluate.by_reference(made, {"": 19}, feed)
    np.testing.assert_array_equal(found[0, [0, 2, 4, 6]], x[0])


@pytest.mark.parametrize(("axis", "opset"), [(0, 13), (-1, 13), (1, 13), (None, 13), (2, 12)])
def test_log_softmax(axis: int | None, opset: int) -> None:
    """Far from the largest one, where the probability is 0, too."""
    feed = {"x": 300 * _f32(np.random.default_rng(1), 3, 4, 5)}
    feed["x"][0, 0, 0] = -np.inf
    made = helper.make_node("LogSoftmax", ["x"], ["y"], **({} if axis is None else {"axis": axis}))
    (found,), (want,) = texts.run(made, feed), evaluate.by_ort(made, {"": opset}, feed)
    assert texts.has(made, feed)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


def test_a_resize_that_crops_is_evaluated_by_its_text() -> None:
    """ONNX Runtime leaves the second axis as it is, the reference spreads the first over 4.5."""
    feed = {
        "x": _f32(np.random.default_rng(1), 3, 9),
        "r": np.array([0.2, 0, 1.2, 1.2], np.float32),
        "s": np.array([1.5, 1], np.float32),
    }
    attrs = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0}
    made = helper.make_node("Resize", ["x", "r", "s"], ["y"], mode="linear", **attrs)
    assert texts.has(made, feed)
    (found,) = evaluate.by_reference(made, {"": 19}, feed)
    at = [0.4, 0.4 + 2 / 3, 0.4 + 4 / 3]
    want = [np.interp(at, range(3), feed["x"][:, k]) for k in range(9)]
    rows = np.array([np.interp(np.arange(7) * 1.2, range(9), row) for row in np.array(want).T])
    np.testing.assert_allclose(found[:3, :7], rows, rtol=1e-5, atol=1e-5)
    assert (found[3] == 7).all() and (found[:, 7:] == 7).all()
    with pytest.raises(evaluate.Refused, match="leaves axes"):
        evaluate.by_ort(made, {"": 19}, feed)
