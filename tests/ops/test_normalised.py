"""Normalisations of large planes: a mean is no long sum of f32."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.ops.packages import runner

pytestmark = pytest.mark.slow

#: Operator -> its scale and bias, one for each of so many, the axes of a mean, and attributes.
ROWS = {
    "InstanceNormalization": (4, (2, 3), {}),
    "GroupNormalization": (4, (2, 3), {"num_groups": 4}),
    "LayerNormalization": (120, (3,), {"axis": -1}),
    "MeanVarianceNormalization": (0, (2, 3), {"axes": [2, 3]}),
}


@pytest.mark.parametrize("op", ROWS)
def test_large_planes(op: str, tmp_path: Path) -> None:
    count, axes, attrs = ROWS[op]
    shape = [1, 4, 128, 120]
    rng = np.random.default_rng(1)
    feed = {"x": (rng.standard_normal(shape) ** 3).astype(np.float32)}
    feed |= {n: rng.uniform(0.5, 2, count).astype(np.float32) for n in "sb" if count}
    ports = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, list(a.shape)) for n, a in feed.items()
    ]
    results = [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)]
    node = helper.make_node(op, list(feed), ["y"], **attrs)
    graph = helper.make_graph([node], "normalised", ports, results)
    opsets = [helper.make_opsetid("", 21)]
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=opsets, ir_version=10)

    x = feed["x"].astype(np.float64)
    epsilon = 0 if op == "MeanVarianceNormalization" else 1e-5
    want = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)
    if count:
        row = [-1] if axes == (3,) else [1, -1, 1, 1]
        want = want * feed["s"].reshape(row) + feed["b"].reshape(row)
    found = runner(model, tmp_path)(feed)["y"]
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-5)
