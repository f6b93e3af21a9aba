"""The ranges of a report: tensors whose integers have one scale that is known."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from tvm_megcc.quantisation.accuracy import Range, measured
from tvm_megcc.quantisation.calibration import Samples

pytest.importorskip("onnxruntime", reason="needs the extra 'quantize'")

PLAIN = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[2, 2] x) => (float[2, 2] y) { r = Relu(x) y = Neg(r) }
"""
#: Scale and zero point of `r` are `scale` and `zero`.
MADE = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[2, 2] x) => (float[2, 2] y) <
  float half = {0.5}, float[2] halves = {0.5, 0.5}, uint8 three = {3}, uint8[2] threes = {3, 3},
  int8 low = {-128}
> {
  run_scale = Identity(half)
  run_zero = Identity(three)
  q = QuantizeLinear(x, half, low)
  d = DequantizeLinear(q, half, low)
  r = Relu(d)
  p = QuantizeLinear(r, SCALE, ZERO)
  e = DequantizeLinear(p, SCALE, ZERO)
  y = Neg(e)
}
"""
X = Range("x", -1.0, 4.0, 0.5, -128, 0.0, 127.5)
R = Range("r", 0.0, 4.0, 0.5, 3, -1.5, 126.0)


@pytest.mark.parametrize(
    "scale, zero, ranges",
    [
        ("half", "three", [X, R]),
        ("half", "run_zero", [X]),
        ("run_scale", "three", [X]),
        ("run_scale", "run_zero", [X]),
        ("halves", "threes", [X]),
    ],
)
def test_ranges_of_known_scales(scale: str, zero: str, ranges: list[Range]) -> None:
    text = MADE.replace("SCALE", scale).replace("ZERO", zero)
    plain, made = onnx.parser.parse_model(PLAIN), onnx.parser.parse_model(text)
    sample = {"x": np.array([[-1, 0.5], [2, 4]], np.float32)}
    report = measured(plain, made, Samples(1, lambda k: sample))
    assert list(report.ranges) == ranges
