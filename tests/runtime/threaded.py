"""A model in which every heavy kind of call is large enough to be split among threads."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

_WEIGHTS = {
    "first": (32, 3, 3, 3), "depthwise": (32, 1, 3, 3), "wide": (64, 32, 1, 1),
    "grouped": (64, 16, 3, 3), "dense": (64, 64), "scale": (64,), "bias": (64,),
}  # fmt: skip
_NODES = (
    ("Conv", "x first", "a", {"pads": [1, 1, 1, 1]}),
    ("Relu", "a", "b", {}),
    ("Conv", "b depthwise", "c", {"group": 32, "pads": [1, 1, 1, 1]}),
    ("Conv", "c wide", "d", {}),
    ("Conv", "d grouped", "e", {"group": 4, "pads": [1, 1, 1, 1]}),
    ("Sigmoid", "e", "f", {}),
    ("MaxPool", "f", "g", {"kernel_shape": [4, 4], "strides": [4, 4]}),
    ("Resize", "g roi twice", "r", {"mode": "linear"}),
    ("GlobalAveragePool", "r", "gap", {}),
    ("Mul", "g gap", "h", {}),
    ("Reshape", "h rows", "i", {}),
    ("Transpose", "i", "j", {"perm": [0, 2, 1]}),
    ("LayerNormalization", "j scale bias", "k", {"axis": -1}),
    ("MatMul", "k dense", "l", {}),
    ("Transpose", "l", "m", {"perm": [0, 2, 1]}),
    ("MatMul", "l m", "n", {}),
    ("Softmax", "n", "o", {"axis": -1}),
    ("MatMul", "o l", "p", {}),
    ("TopK", "o five", "top indices", {"axis": -1}),
    ("ReduceMean", "o", "q", {"axes": [2], "keepdims": 1}),
    ("Softplus", "p", "s", {}),
    ("CumSum", "s axis", "t", {}),
    ("Add", "t q", "y", {}),
)


def model(size: int = 64) -> onnx.ModelProto:
    """Input ``x`` of `size` by `size` pixels; outputs ``y`` and ``top``."""
    rng = np.random.default_rng(0)
    weights = {n: rng.standard_normal(s).astype("f4") / 8 for n, s in _WEIGHTS.items()}
    tokens = (size // 4) ** 2
    weights |= {
        "roi": np.zeros(0, "f4"), "twice": np.array([1, 1, 2, 2], "f4"),
        "rows": np.array([1, 64, tokens]), "five": np.array([5]), "axis": np.array(1),
    }  # fmt: skip
    nodes = [
        helper.make_node(op, ins.split(), outs.split(), name=f"n{k}", **attributes)
        for k, (op, ins, outs, attributes) in enumerate(_NODES)
    ]
    shapes = {"y": [1, tokens, 64], "top": [1, tokens, 5]}
    graph = helper.make_graph(
        nodes,
        "threaded",
        [helper.make_tensor_value_info("x", T.FLOAT, [1, 3, size, size])],
        [helper.make_tensor_value_info(name, T.FLOAT, s) for name, s in shapes.items()],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
