"""Which dequantised constants an import leaves as they are."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper, parser

from tvm_megcc.frontend import from_onnx

DQ = "w = DequantizeLinear <axis=0> (q, s, z)"
#: Nodes of a graph, and whether the weights stay quantised.
GRAPHS = {
    f"{DQ}; y = MatMul(x, w)": True,
    f"{DQ}; y = Gemm <transB=1> (x, w, b)": True,
    f"{DQ}; t = Transpose(w); y = MatMul(x, t)": True,
    f"{DQ}; i = Identity(w); y = MatMul(x, i)": True,
    f"{DQ}; y = MatMul(w, x)": False,
    f"{DQ}; y = MatMul(w, w)": False,
    f"{DQ}; a = MatMul(x, w); y = Add(a, w)": False,
    f"{DQ}; y = Add(x, w)": False,
    f"{DQ}; t = Exp(w); y = MatMul(x, t)": False,
    f"{DQ}; t = Transpose(w); y = Add(x, t)": False,
}


@pytest.mark.parametrize("text", GRAPHS)
def test_weights(text: str) -> None:
    arrays = {
        "q": np.arange(16, dtype=np.int8).reshape(4, 4), "s": np.ones(4, np.float32),
        "z": np.zeros(4, np.int8), "b": np.ones(4, np.float32),
    }  # fmt: skip
    body = text.replace("; ", "\n")
    graph = parser.parse_graph(f"g (float[4, 4] x) => (float[4, 4] y) {{ {body} }}")
    graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in arrays.items())
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    assert ("R.dequantize" in from_onnx(model).mod.script()) == GRAPHS[text]
