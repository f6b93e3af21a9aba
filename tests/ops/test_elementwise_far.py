"""Elementwise operators where digits are lost, at infinities, and in types other than f32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.ops.packages import answers, ints, model, runner

pytestmark = pytest.mark.slow

FAR = np.array(
    [-30, -14, -5, -1e-3, -1e-30, -0.0, 0, 1e-30, 1e-3, 2, 14, 90, np.inf, -np.inf, np.nan], "f4"
)
#: 2^53 and more: no f64 has these.
LARGE = {"i": np.int64(-(2**62) - 1), "u": np.uint64(2**63 + 1)}


def test_far_from_zero(tmp_path: Path) -> None:
    ops = ["Mish", "Softplus", "ThresholdedRelu", "Selu", "LeakyRelu", "Sign"]
    types = {"a": TensorProto.FLOAT, "d": TensorProto.DOUBLE}
    types |= {"i": TensorProto.INT64, "u": TensorProto.UINT64}
    nodes = [helper.make_node(op, ["a"], [op]) for op in ops]
    nodes += [helper.make_node("Sign", [name], [f"Sign_{name}"]) for name in "diu"]
    feed = {"a": FAR, "d": FAR.astype("f8")}
    feed |= {n: np.array([0, 1, v], v.dtype) for n, v in LARGE.items()}
    proto = model(
        nodes,
        [(name, t, feed[name].shape) for name, t in types.items()],
        [(n.output[0], types[n.input[0]]) for n in nodes],
        opset=20,
    )
    for found, want in answers(proto, tmp_path, [feed]):
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=0)


def test_in_f64(tmp_path: Path) -> None:
    ops = ["Mish", "Softplus", "ThresholdedRelu", "Selu"]
    nodes = [helper.make_node(op, ["x"], [op]) for op in ops]
    proto = model(nodes, [("x", 11, FAR.shape)], [(op, 11) for op in ops], opset=20)
    x = FAR.astype("f8")
    found = runner(proto, tmp_path)({"x": x})
    with np.errstate(over="ignore", invalid="ignore"):
        softplus = np.where(x > 0, x, 0) + np.log1p(np.exp(-np.abs(x)))
        want = {
            "Softplus": softplus,
            "Mish": x * np.tanh(softplus),
            "ThresholdedRelu": np.where(x > 1, x, 0),
            "Selu": np.float32(1.050701) * np.where(x > 0, x, np.float32(1.6732632) * np.expm1(x)),
        }
    for op in ops:
        near_zero = 1e-15 if op == "Selu" else 0
        np.testing.assert_allclose(
            found[op], want[op], rtol=1e-6 if op == "Selu" else 1e-14, atol=near_zero
        )


def test_pad_with_integers_that_no_f64_has(tmp_path: Path) -> None:
    weights = [numpy_helper.from_array(np.asarray(v), f"{n}_fill") for n, v in LARGE.items()]
    weights.append(numpy_helper.from_array(ints(1, 2), "widths"))
    nodes = [helper.make_node("Pad", [n, "widths", f"{n}_fill"], [f"{n}_out"]) for n in LARGE]
    types = {"i": TensorProto.INT64, "u": TensorProto.UINT64}
    ports = [(n, t, [3]) for n, t in types.items()]
    proto = model(nodes, ports, [(f"{n}_out", t) for n, t in types.items()], weights, opset=13)
    feed = {n: np.arange(3, dtype=v.dtype) for n, v in LARGE.items()}
    for found, want in answers(proto, tmp_path, [feed]):
        np.testing.assert_array_equal(found, want)


def test_hardmax_of_open_dims(tmp_path: Path) -> None:
    node = helper.make_node("Hardmax", ["x"], ["y"], axis=1)
    x = np.array([[[1, 2], [3, 2]], [[0, 0], [-1, 5]]], "f4")
    for opset in (11, 13):
        folder = tmp_path / str(opset)
        folder.mkdir()
        proto = model([node], [("x", 1, ["N", "C", 2])], [("y", 1)], opset=opset)
        for found, want in answers(proto, folder, [{"x": x}, {"x": x[:1]}]):
            np.testing.assert_array_equal(found, want)


def test_statistics_of_a_normalisation_are_f32(tmp_path: Path) -> None:
    node = helper.make_node("LayerNormalization", ["x", "s"], ["y", "mean", "deviation"])
    weights = [numpy_helper.from_array(np.ones(4), "s")]
    outputs = [("y", TensorProto.DOUBLE), ("mean", TensorProto.FLOAT)]
    outputs.append(("deviation", TensorProto.FLOAT))
    proto = model([node], [("x", TensorProto.DOUBLE, [2, 4])], outputs, weights)
    x = np.arange(8.0).reshape(2, 4) ** 2
    for found, want in answers(proto, tmp_path, [{"x": x}]):
        assert found.dtype == want.dtype
        np.testing.assert_allclose(found, want, rtol=1e-6)
