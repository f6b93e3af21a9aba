"""Numbers past f16 in a model that is made f16: rows that are masked whole, sums, conversions."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.fast import machines
from tvm_megcc import driver
from tvm_megcc.core.preference import Preference
from tvm_megcc.host import package, toolchain

pytestmark = pytest.mark.slow

_LOW = float(np.finfo(np.float32).min)
#: Row -> how `y` comes of the scores `s`, the f32 mask `m` (1 where nothing is visible), the
#: integers `i` (its opposite), the input `big` of -1e9 and `inf` of -inf, and `c`, where `m` is 1.
#: All scores of a row are below -16 once, so that a sum of f16 with -65504 would be -inf.
ROWS = {
    "float mask times -1e9": "b = Mul(m, n9) a = Add(s, b) y = Softmax<axis=-1>(a)",
    "integer mask, finfo.min": "f = Cast<to=1>(i) v = Sub(one, f) b = Mul(v, low) a = Add(s, b)"
    " y = Softmax<axis=-1>(a)",
    "mask on the left, subtracted": "b = Mul(m, p9) a = Sub(s, b) y = Softmax<axis=-1>(a)",
    "mask of an input": "a = Add(s, big) y = Softmax<axis=-1>(a)",
    "constant sum": "a = Add(s, n9) y = Softmax<axis=-1>(a)",
    "a large factor": "y = Mul(s, p9)",
    "Where": "a = Where(c, n9, s) y = Softmax<axis=-1>(a)",
    "Where, then a sum": "w = Where(c, n9, s) a = Add(w, s) y = Softmax<axis=-1>(a)",
    "Where of integers": "b = Where(c, n9, zero) a = Add(s, b) y = Softmax<axis=-1>(a)",
    "two masks": "b = Mul(m, n9) d = Add(s, b) e = Mul(m, n9) a = Add(d, e)"
    " y = Softmax<axis=-1>(a)",
    "mask and a product": "b = Mul(m, n9) d = Add(t, b) a = Add(s, d) y = Softmax<axis=-1>(a)",
    "parts side by side": "b = Mul(m, n9) d = Concat<axis=-1>(s, b) e = Concat<axis=-1>(s, s)"
    " a = Add(d, e) y = Softmax<axis=-1>(a)",
    "an infinity stays": "y = Add(s, inf)",
    "a softmax of a mask": "y = Softmax<axis=-1>(big)",
}
#: What f16 cannot hold in the output: it is only finite.
_SATURATES = {"a large factor"}


def _nodes(name: str, text: str) -> list[onnx.NodeProto]:
    """The nodes of a row, whose own values have its name before theirs."""
    parsed = onnx.parser.parse_graph(f"g (float x) => (float y) {{ {text} }}")
    made = {out for node in parsed.node for out in node.output}
    for node in parsed.node:
        for names in (node.input, node.output):
            names[:] = [f"{name}/{n}" if n in made else n for n in names]
    return list(parsed.node)


def _model(sizes: list[int | str]) -> onnx.ModelProto:
    shared = _nodes("s", "s = MatMul(x, w) t = MatMul(x, v)")
    for node in shared:
        node.output[0] = node.output[0].removeprefix("s/")
    nodes = shared + [node for name, text in ROWS.items() for node in _nodes(name, text)]
    value, f32 = helper.make_tensor_value_info, TensorProto.FLOAT
    inputs = [value("x", f32, [sizes[0], 4])]
    inputs += [value(n, f32, [sizes[0], 5]) for n in ("m", "big", "inf")]
    inputs += [value("i", TensorProto.INT64, [sizes[0], 5])]
    inputs += [value("c", TensorProto.BOOL, [sizes[0], 5])]
    draw = np.random.default_rng(0).uniform
    arrays = {
        "w": np.concatenate([draw(-1, 1, (3, 5)), np.full((1, 5), -40)]), "v": draw(-1, 1, (4, 5)),
        "n9": -1e9, "p9": 1e9, "low": _LOW, "one": 1, "zero": 0,
    }  # fmt: skip
    weights = [onnx.numpy_helper.from_array(np.float32(a), n) for n, a in arrays.items()]
    outputs = [value(f"{name}/y", f32, None) for name in ROWS]
    graph = helper.make_graph(nodes, "masks", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _feed() -> dict[str, np.ndarray]:
    """Rows: all visible, some, none, none with scores below -16."""
    x = np.random.default_rng(1).uniform(-1, 1, (4, 4)).astype(np.float32)
    x[:, 3] = [0, 0, 0, 1]
    m = np.array([[0] * 5, [0, 1, 0, 0, 1], [1] * 5, [1] * 5], np.float32)
    inf = np.where(m == 1, -np.inf, 0).astype(np.float32)
    return {"x": x, "m": m, "big": m * np.float32(-1e9), "inf": inf,
            "i": (1 - m).astype(np.int64), "c": m == 1}  # fmt: skip


@pytest.mark.parametrize(
    ("arch", "precision", "sizes"),
    machines(("host", "fp16", 4), ("host", "mixed", "rows"), ("arm64", "fp16", "rows"),
             ("arm64+fp16", "fp16", 4)),
)  # fmt: skip
def test_what_f16_does_not_hold_stays_finite(
    arch: str, precision: str, sizes: int | str, tmp_path: Path
) -> None:
    if arch != "host" and not shutil.which("qemu-aarch64"):
        pytest.skip("needs qemu-aarch64: apt install qemu-user")
    model, feed = _model([sizes]), _feed()
    out = tmp_path / "package"
    driver.compile_model(model, out, archs=[arch], preference=Preference(precision=precision))
    opened = package.load(out)
    (name,) = opened.archs
    runner = toolchain.build(opened.path, name)
    found = toolchain.run_package(runner, name, feed, opened.manifest).outputs
    names = [output.name for output in model.graph.output]
    for label, want in zip(names, ReferenceEvaluator(model).run(None, feed), strict=True):
        row = label.removesuffix("/y")
        if row in _SATURATES:
            assert np.isfinite(found[label]).all(), (row, found[label])
            continue
        np.testing.assert_array_equal(np.isfinite(found[label]), np.isfinite(want), err_msg=row)
        finite = np.isfinite(want)
        np.testing.assert_allclose(found[label][finite], want[finite], atol=2e-2, err_msg=row)


def test_a_cast_that_the_model_has_overflows_as_onnx_says(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16),
         helper.make_node("Cast", ["h"], ["y"], to=TensorProto.FLOAT)],
        "overflow",
        [value("x", TensorProto.FLOAT, [4])],
        [value("h", TensorProto.FLOAT16, [4]), value("y", TensorProto.FLOAT, [4])],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    feed = {"x": np.array([65504, 65520, -1e9, 1], np.float32)}
    for precision in ("model", "fp16"):
        out = tmp_path / precision
        driver.compile_model(model, out, archs=["host"], preference=Preference(precision=precision))
        opened = package.load(out)
        (name,) = opened.archs
        runner = toolchain.build(opened.path, name)
        found = toolchain.run_package(runner, name, feed, opened.manifest).outputs
        np.testing.assert_array_equal(found["y"], np.float32([65504, np.inf, -np.inf, 1]))
        assert found["h"].dtype == np.float16
