"""Weights of a model in f16 take two bytes each, also where only integers are computed before."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tvm_megcc import driver

_ROWS, _DEPTH, _WIDTH = 300, 128, 64
_TABLE, _MATRIX = 2 * _ROWS * _DEPTH, 2 * _DEPTH * _WIDTH
_IDS = "g (int64[b, s] i) => (float16[b, s, 64] y)"
#: Row -> signature, nodes, bytes of the file's weights.
ROWS = {
    "Gather, MatMul": (_IDS, "x = Gather(t, i) y = MatMul(x, w)", _TABLE + _MATRIX),
    "Gather, Add of an input, MatMul": (
        "g (int64[b, s] i, float16[b, s, 128] a) => (float16[b, s, 64] y)",
        "x = Gather(t, i) z = Add(x, a) y = MatMul(z, w)", _TABLE + _MATRIX,
    ),
    "Gather, normalised": (
        _IDS, "x = Gather(t, i) n = LayerNormalization(x, g, g) y = MatMul(n, w)",
        _TABLE + _MATRIX,
    ),
    "Gemm": (
        "g (int64[b] i) => (float16[b, 64] y)", "x = Gather(t, i) y = Gemm(x, w)",
        _TABLE + _MATRIX,
    ),
    "integers that are cast": (
        "g (int64[b, 128] i) => (float16[b, 64] y)", "x = Cast<to=10>(i) y = MatMul(x, w)",
        _MATRIX,
    ),
    "a slice of a table": (
        "g (int64[b] i) => (float16[b, 128] y)", "o = Shape(i) y = Slice(t, zero, o)", _TABLE,
    ),
    "a choice": (
        "g (bool[300, 128] c) => (float16[300, 128] y)", "z = Neg(t) y = Where(c, t, z)",
        2 * _TABLE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("arch", ["arm64", "x86+avx2"])
@pytest.mark.parametrize("name", ROWS)
def test_weights_of_a_model_in_f16_take_two_bytes(name: str, arch: str) -> None:
    signature, text, wanted = ROWS[name]
    graph = onnx.parser.parse_graph(f"{signature} {{ {text} }}")
    draw = np.random.default_rng(0).standard_normal
    arrays = {
        "t": draw((_ROWS, _DEPTH)).astype("f2"), "w": draw((_DEPTH, _WIDTH)).astype("f2"),
        "g": draw(_DEPTH).astype("f2"), "zero": np.zeros(1, np.int64),
    }  # fmt: skip
    read = {n for node in graph.node for n in node.input}
    graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in arrays.items() if n in read)
    opset = onnx.helper.make_opsetid("", 17)
    model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=9)
    (program,) = driver.compile_programs(model, [arch]).values()
    assert sum(len(weight.data) for weight in program.weights) <= wanted + 4 * _DEPTH * 4
