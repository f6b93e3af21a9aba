"""Operators that exporters write in pieces, from ONNX to C: how far they are from f64."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tests.fast import machines
from tvm_megcc import driver
from tvm_megcc.host import package, toolchain

pytestmark = pytest.mark.slow

_CENTRED = "m = ReduceMean<axes=[-1]>(x) d = Sub(x, m)"
_SPREAD = "v = ReduceMean<axes=[-1]>(q) e = Add(v, eps)"
#: Row -> how `y` comes of `x`.
ROWS = {
    "layer norm": f"{_CENTRED} q = Pow(d, two) {_SPREAD} s = Sqrt(e) n = Div(d, s) g = Mul(n, w)"
    " y = Add(g, b)",
    "layer norm, folded": f"{_CENTRED} q = Mul(d, d) {_SPREAD} s = Sqrt(e) r = Reciprocal(s)"
    " k = Mul(r, w) xk = Mul(x, k) mk = Mul(m, k) c = Sub(b, mk) y = Add(xk, c)",
    "layer norm, bare": f"{_CENTRED} q = Mul(d, d) {_SPREAD} s = Sqrt(e) y = Div(d, s)",
    "rms norm": f"q = Pow(x, two) {_SPREAD} s = Sqrt(e) r = Reciprocal(s) n = Mul(x, r)"
    " y = Mul(w, n)",
    "group norm": "p = Reshape(x, pairs) n = InstanceNormalization(p, ones, zeros)"
    " f = Reshape(n, whole) g = Mul(f, w) y = Add(g, b)",
    "softmax": "m = ReduceMax<axes=[-1]>(x) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, last)"
    " y = Div(e, s)",
    "log softmax": "m = ReduceMax<axes=[-1]>(x) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, last)"
    " l = Log(s) y = Sub(d, l)",
    "gelu": "q = Div(x, root) e = Erf(q) a = Add(e, one) p = Mul(x, a) y = Mul(p, half)",
    "gelu by tanh": "c = Pow(x, three) p = Mul(c, cubes) a = Add(x, p) t = Mul(a, slope)"
    " h = Tanh(t) o = Add(h, one) z = Mul(x, half) y = Mul(z, o)",
    "silu": "s = Sigmoid(x) y = Mul(x, s)",
}
_LINE = 48
_ARRAYS = {
    "w": np.linspace(-2, 3, _LINE), "b": np.linspace(1, -1, _LINE), "two": 2, "three": 3, "one": 1,
    "half": 0.5, "eps": 1e-5, "root": np.sqrt(2), "cubes": 0.044715, "slope": np.sqrt(2 / np.pi),
    "ones": np.ones(4), "zeros": np.zeros(4),
}  # fmt: skip


def _model(batch: int | str, kind: type) -> onnx.ModelProto:
    """All rows side by side, in a type: the model of f64 has the same numbers."""
    nodes = []
    for name, text in ROWS.items():
        parsed = onnx.parser.parse_graph(f"g (float x) => (float y) {{ {text} }}").node
        made = {out for node in parsed for out in node.output}
        for node in parsed:
            for names in (node.input, node.output):
                names[:] = [f"{name}/{n}" if n in made else n for n in names]
            nodes.append(node)
    dtype = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    arrays = {n: np.float32(a).astype(kind) for n, a in _ARRAYS.items()}
    arrays |= {"last": np.int64([-1]), "pairs": np.int64([0, 4, -1]),
               "whole": np.int64([-1, 3, _LINE])}  # fmt: skip
    inits = [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in arrays.items()]
    value = helper.make_tensor_value_info
    outputs = [value(f"{name}/y", dtype, None) for name in ROWS]
    inputs = [value("x", dtype, [batch, 3, _LINE])]
    graph = helper.make_graph(nodes, "pieces", inputs, outputs, inits)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


def _bound(name: str, x: np.ndarray) -> float:
    """Difference to f64 that the roundings of `x` less its mean, of sums and of a root allow.

    The mean of numbers near `c` is off by a unit of `c` in the last place, over the deviation; the
    scale is at most 3. An activation's own error is below 2e-7 of its operand.
    """
    unit, largest = float(np.finfo(x.dtype).eps), float(np.abs(x).max())
    if "norm" in name:
        return 3 * 4 * unit * (1 + largest / float(x.astype(np.float64).std(-1).min()))
    return 4 * unit * max(largest, 1)


@pytest.mark.parametrize(
    ("arch", "batch"), machines(("host", 2), ("portable", "n"), ("arm64", "n"), ("arm64", 2))
)
@pytest.mark.parametrize(("kind", "mean"), [(np.float32, 0), (np.float32, 20), (np.float16, 3)])
def test_the_difference_to_f64_is_bounded(
    arch: str, batch: int | str, kind: type, mean: int, tmp_path: Path
) -> None:
    if arch == "arm64" and not shutil.which("qemu-aarch64"):
        pytest.skip("needs qemu-aarch64: apt install qemu-user")
    x = (np.random.default_rng(3).standard_normal((2, 3, _LINE)) + mean).astype(kind)
    out = tmp_path / "package"
    driver.compile_model(_model(batch, kind), out, archs=[arch])
    opened = package.load(out)
    (name,) = opened.archs
    runner = toolchain.build(opened.path, name)
    found = toolchain.run_package(runner, name, {"x": x}, opened.manifest).outputs
    exact = ReferenceEvaluator(_model(batch, np.float64)).run(None, {"x": x.astype(np.float64)})
    for row, want in zip(ROWS, exact, strict=True):
        difference = np.abs(found[f"{row}/y"] - want).max()
        assert difference <= _bound(row, x), (row, difference, _bound(row, x))
