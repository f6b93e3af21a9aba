"""Tiny ONNX models, and what they give, for tests of the tools around the compiler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4) / 4 - 1


def model() -> onnx.ModelProto:
    """``y/0 = relu(x:0 @ w)``, ``sum`` of the rows of it; the names are no C identifiers."""
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x:0", "w"], ["product"], name="product"),
            helper.make_node("Relu", ["product"], ["y/0"], name="relu"),
            helper.make_node("ReduceSum", ["y/0"], ["sum"], name="sum", keepdims=0),
        ],
        "tiny",
        [helper.make_tensor_value_info("x:0", TensorProto.FLOAT, [2, 3])],
        [
            helper.make_tensor_value_info("y/0", TensorProto.FLOAT, [2, 4]),
            helper.make_tensor_value_info("sum", TensorProto.FLOAT, []),
        ],
        [numpy_helper.from_array(WEIGHT, "w")],
    )
    return finish(graph)


def dynamic() -> onnx.ModelProto:
    """``y = x + n`` of shape [rows, 3], ``rows`` symbolic; `n` is an int64 scalar made float."""
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["n"], ["n_float"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["x", "n_float"], ["y"]),
        ],
        "dynamic",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 3]),
            helper.make_tensor_value_info("n", TensorProto.INT64, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 3])],
    )
    return finish(graph)


def finish(graph: onnx.GraphProto) -> onnx.ModelProto:
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="test"
    )


def save(proto: onnx.ModelProto, folder: Path) -> Path:
    path = folder / f"{proto.graph.name}.onnx"
    onnx.save(proto, path)
    return path


def example() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Inputs of `model`, and the outputs they give."""
    x = np.asarray([[1, -2, 3], [0.5, 4, -1]], np.float32)
    y = np.maximum(x @ WEIGHT, 0)
    return {"x:0": x}, {"y/0": y, "sum": np.asarray(y.sum(), np.float32)}
