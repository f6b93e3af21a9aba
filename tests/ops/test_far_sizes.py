"""Sizes and positions past 32 bits, beside open dims: refused by a sentence that names the node."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import parser

from tvm_megcc import driver
from tvm_megcc.errors import MegccError

FAR = 2**42
INDEX = f"(float[n] x) => (float[a] y) <int64[1] i = {{{FAR}}}, float[1] u = {{1}}>"
INDICES = INDEX.replace("int64[1]", "int64[1, 1]")

#: Operator -> ports, constants and its node.
ROWS = {
    "GatherND": f"{INDICES} {{ y = GatherND(x, i) }}",
    "Gather": f"{INDEX} {{ y = Gather(x, i) }}",
    "GatherElements": f"{INDEX} {{ y = GatherElements(x, i) }}",
    "ScatterElements": f"{INDEX} {{ y = ScatterElements(x, i, u) }}",
    "ScatterND": f"{INDICES} {{ y = ScatterND(x, i, u) }}",
    "TopK": f"{INDEX.replace('a] y)', 'a] y, int64[a] z)')} {{ y, z = TopK(x, i) }}",
    "Pad": f"(float[n] x) => (float[a] y) <int64[2] i = {{{FAR}, 0}}> {{ y = Pad(x, i) }}",
    "Tile": f"{INDEX} {{ y = Tile(x, i) }}",
    "Expand": f"(float[n, 1] x) => (float[a, b] y) <int64[2] i = {{1, {FAR}}}>"
              " { y = Expand(x, i) }",
    "Resize": "(float[1, 1, n, m] x) => (float[a, b, c, d] y) <float[4] i = {1, 1, 1e12, 1}>"
              " { y = Resize(x, , i) }",
    "ConstantOfShape": f"{INDEX} {{ s = Shape(x) t = Mul(s, i) y = ConstantOfShape(t) }}",
    "CenterCropPad": f"{INDEX} {{ y = CenterCropPad(x, i) }}",
    "MaxPool": "(float[1, 1, n, m] x) => (float[a, b, c, d] y)"
               f" {{ y = MaxPool <kernel_shape = [3, 1], pads = [{FAR}, 0, 0, 0]> (x) }}",
}  # fmt: skip


@pytest.mark.parametrize("op", ROWS)
def test_far_sizes_name_their_node(op: str, tmp_path: Path) -> None:
    text = f'<ir_version: 9, opset_import: ["" : 18]> g {ROWS[op]}'
    model: onnx.ModelProto = parser.parse_model(text)
    with pytest.raises(MegccError, match=rf"^'?{op}(__| 'y': )"):
        driver.compile_model(model, tmp_path / "pkg", archs=["host"])
    assert not (tmp_path / "pkg").exists()
