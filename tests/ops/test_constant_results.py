"""A constant that gets its shape when the model runs: what both branches of an If give, mostly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from tests.ops.packages import Arrays, check

pytestmark = pytest.mark.slow

W = "float[6, 1] w = {1, 2, 3, 4, 5, 6}"
CHOSEN = """v = If (c) <then_branch: graph = t () => (float[6, 1] y1) { y1 = Identity(w) },
    else_branch: graph = e () => (float[6, 1] y2) { y2 = Identity(w) }>"""
SIZES: Arrays = {"c": np.array(True), "s": np.array([3, 2])}
X = np.arange(6, dtype="f4").reshape(2, 3)

#: Ports and constants, nodes, and what is fed.
ROWS: dict[str, tuple[str, str, Arrays]] = {
    "reshape": (f"(bool c, int64[2] s) => (float[a, b] y) <{W}>",
                f"{CHOSEN} y = Reshape(v, s)", SIZES),
    "reshape, both": (f"(bool c, int64[2] s) => (float[a, b] y, float[6, 1] v) <{W}>",
                      f"{CHOSEN} y = Reshape(v, s)", SIZES),
    "reshape by an input": (f"(bool c, float[n, m] x) => (float[a, b] y) <{W}>",
                            f"{CHOSEN} s = Shape(x) y = Reshape(v, s)", {"c": SIZES["c"], "x": X}),
    "read": (f"(bool c, int64[2] s) => (float[a, b] y) <{W}>",
             f"{CHOSEN} x = Reshape(v, s) y = Transpose(x)", SIZES),
    "slice": (f"(bool c, int64[1] s) => (float[a, 1] y) <{W}, int64[1] d = {{0}}, "
              "int64[1] e = {6}>", f"{CHOSEN} y = Slice(v, s, e, d)",
              {"c": SIZES["c"], "s": np.array([4])}),
    "split": (f"(bool c, float[n, m] x) => (float[a, 1] y, float[b, 1] z) <{W}, "
              "int64[1] six = {6}>",
              f"""{CHOSEN} n = Shape<start = 0, end = 1>(x) r = Sub(six, n)
              p = Concat<axis = 0>(n, r) y, z = Split<axis = 0>(v, p)""",
              {"c": SIZES["c"], "x": X}),
    "loop": (f"(bool c, int64 k, int64[2] s) => (float[a, b] y) <{W}, float[3, 2] z = "
             "{0, 0, 0, 0, 0, 0}>",
             """y = Loop (k, c, z) <body: graph = b (int64 i, bool q, float[g, h] u)
             => (bool r, float[g, h] o)
             { r = Identity(q) t = Reshape(w, s) o = Add(u, t) }>""",
             SIZES | {"k": np.array(3)}),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_constant_gets_its_shape(name: str, tmp_path: Path) -> None:
    ports, nodes, feed = ROWS[name]
    model: onnx.ModelProto = parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17]> agraph {ports} {{ {nodes} }}'
    )
    check(model, tmp_path, feed)
