"""tvm_megcc.backend as ONNX's own runner and as users call it."""

from __future__ import annotations

import unittest

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.backend.test import BackendTest

from tvm_megcc import backend
from tvm_megcc.errors import InputError, MegccError, UnsupportedError

CASES = r"test_(add|concat_1d_axis_0|MaxPool1d|single_relu_model)_cpu$"


@pytest.mark.slow
def test_onnx_runner_runs_us() -> None:
    runner = BackendTest(backend, __name__).include(CASES)
    result = unittest.TestResult()
    runner.test_suite.run(result)
    assert result.testsRun - len(result.skipped) == 4
    assert result.wasSuccessful(), result.failures + result.errors


def model() -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", 3]) for n in "xy")
    nodes = [helper.make_node("Mul", ["x", "w"], ["y"])]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [3], [1, 2, 3])
    # As old exporters do it: the weight is an input, too.
    w = helper.make_tensor_value_info("w", TensorProto.FLOAT, [3])
    graph = helper.make_graph(nodes, "g", [x, w], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.slow
def test_prepared_model_runs_at_several_sizes() -> None:
    prepared = backend.prepare(model())
    for rows in (1, 4):
        x = np.arange(3 * rows, dtype=np.float32).reshape(rows, 3)
        (y,) = prepared.run([x])
        np.testing.assert_array_equal(y, x * np.float32([1, 2, 3]))
        (again,) = prepared.run({"x": x})
        np.testing.assert_array_equal(again, y)


def test_inputs_that_do_not_fit() -> None:
    prepared = backend.prepare(model())
    for inputs in ([], [np.zeros((2, 3))], [np.zeros((2, 4), np.float32)], [[1.0]], [None]):
        with pytest.raises(MegccError) as raised:
            prepared.run(inputs)
        assert "\n" not in str(raised.value)


@pytest.mark.slow
def test_run_node() -> None:
    node = helper.make_node("Tile", ["x", "repeats"], ["y"])
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (y,) = backend.run_node(node, [x, np.array([1, 2])])
    np.testing.assert_array_equal(y, np.tile(x, [1, 2]))


def test_devices() -> None:
    assert backend.supports_device("CPU") and not backend.supports_device("CUDA:1")
    with pytest.raises(InputError, match="CUDA"):
        backend.prepare(model(), "CUDA")


def test_errors_are_ours() -> None:
    with pytest.raises(UnsupportedError, match="Nothing"):
        backend.run_node(helper.make_node("Nothing", ["x"], ["y"], domain="ours"), [np.zeros(1)])
