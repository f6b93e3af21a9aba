"""A model that has halves somewhere: what it has in f32 is computed in f32."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.ops.packages import runner

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)


def _numbers(*shape: int) -> np.ndarray:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def _if() -> list[onnx.NodeProto]:
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node("MatMul", ["x", w], [name])], name, [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
        )
        for name, w in (("then", "w"), ("else", "v"))
    }  # fmt: skip
    return [
        helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0),
        helper.make_node("Greater", ["most", "zero"], ["some"]),
        helper.make_node("If", ["some"], ["y"], **branches),
    ]


def _recurrent(op: str, gates: int, steps: int) -> tuple:
    nodes = [helper.make_node(op, ["x", "w", "r"], ["y"], hidden_size=3)]
    weights = {"w": _numbers(1, 3 * gates, 4), "r": _numbers(1, 3 * gates, 3)}
    return nodes, (steps, 2, 4), weights


_TREE = {
    "nodes_treeids": [0] * 3, "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0],
    "nodes_values": [0.12345, 0, 0], "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
}  # fmt: skip
_LEAVES = {"treeids": [0] * 4, "nodeids": [1, 1, 2, 2], "ids": [0, 1, 0, 1]}
_ML = "ai.onnx.ml"

#: Nodes whose result is `y`, dims of their operand `x`, and their weights.
ROWS: dict[str, tuple[list[onnx.NodeProto], tuple[int, ...], Mapping[str, np.ndarray]]] = {
    "MatMul": ([helper.make_node("MatMul", ["x", "w"], ["y"])], (3, 4), {"w": _numbers(4, 5)}),
    "Conv": (
        [helper.make_node("Conv", ["x", "w"], ["y"])], (1, 2, 6, 6), {"w": _numbers(3, 2, 3, 3)},
    ),
    "ConvTranspose": (
        [helper.make_node("ConvTranspose", ["x", "w"], ["y"])],
        (2, 1, 1, 3), {"w": _numbers(1, 2, 2, 1)},
    ),
    "Resize": (
        [helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear")],
        (1, 2, 5, 5), {"s": np.array([1, 1, 1.4, 1.7], np.float32)},
    ),
    "Attention": (  # by the functions that ONNX has of it
        [helper.make_node("Attention", ["x", "k", "v"], ["y"])],
        (1, 2, 4, 6), {"k": _numbers(1, 2, 5, 6), "v": _numbers(1, 2, 5, 3)},
    ),
    "If": (_if(), (3, 4), {"w": _numbers(4, 5), "v": _numbers(4, 5), "zero": np.float32(0)}),
    **{
        f"{op}_{steps}": _recurrent(op, gates, steps)
        for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4))
        for steps in (3, 12)
    },
    "SVMRegressor": (
        [helper.make_node(
            "SVMRegressor", ["x"], ["y"], domain=_ML, coefficients=[2.00426, -2.9815],
            support_vectors=[*map(float, _numbers(8))], n_supports=2, kernel_type="LINEAR",
            kernel_params=[0.5, 0.25, 2.0],
            rho=[1.30987],
        )], (3, 4), {},
    ),
    "TreeEnsembleClassifier": (
        [helper.make_node(
            "TreeEnsembleClassifier", ["x"], ["label", "y"], domain=_ML, **_TREE,
            class_weights=[0.1108578, 0.474336, -0.82737, -0.70423], classlabels_int64s=[5, 7],
            **{f"class_{k}": v for k, v in _LEAVES.items()},
        )], (3, 4), {},
    ),
    "TreeEnsembleRegressor": (
        [helper.make_node(
            "TreeEnsembleRegressor", ["x"], ["y"], domain=_ML, n_targets=2, **_TREE,
            target_weights=[0.1108578, 0.474336, -0.82737, -0.70423],
            **{f"target_{k}": v for k, v in _LEAVES.items()},
        )], (3, 4), {},
    ),
}  # fmt: skip


def _row(name: str) -> onnx.ModelProto:
    """A row as a model, all names of which begin with the row's."""
    nodes, dims, weights = ROWS[name]
    port = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, name, [port("x", TensorProto.FLOAT, dims)], [port("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(w), n) for n, w in weights.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 24), helper.make_opsetid(_ML, 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    _prefix(model.graph, f"{name}_")
    return model


def _prefix(graph: onnx.GraphProto, prefix: str) -> None:
    """Put it before all names; `onnx.compose` forgets what a branch reads from outside."""
    for named in (*graph.input, *graph.output, *graph.initializer):
        named.name = prefix + named.name
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [prefix + name if name else "" for name in names]
        for attr in node.attribute:
            _prefix(attr.g, prefix)


@pytest.mark.parametrize("half", [ml_dtypes.bfloat16, np.float16])
def test_full(tmp_path: Path, half: type) -> None:
    """All rows in one model, beside one node in halves."""
    rows = [_row(name) for name in ROWS]
    feeds, wanted = {}, {}
    for name, row in zip(ROWS, rows, strict=True):
        feed = {f"{name}_x": _numbers(*ROWS[name][1])}
        session = ort.InferenceSession(row.SerializeToString())
        (wanted[f"{name}_y"],) = session.run([f"{name}_y"], feed)
        feeds |= feed
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(half))
    whole = onnx.ModelProto()
    whole.CopyFrom(rows[0])
    for row in rows[1:]:
        for part in ("node", "initializer", "input", "output"):
            getattr(whole.graph, part).extend(getattr(row.graph, part))
    whole.graph.node.append(helper.make_node("Exp", ["b"], ["e"]))
    whole.graph.input.append(helper.make_tensor_value_info("b", kind, [4]))
    whole.graph.output.append(helper.make_tensor_value_info("e", kind, None))
    found = runner(whole, tmp_path)({**feeds, "b": np.ones(4, half)})
    off = {n: float(np.abs(found[n] - want).max(initial=0)) for n, want in wanted.items()}
    assert not {name: error for name, error in off.items() if error > 3e-6}
