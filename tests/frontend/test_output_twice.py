"""An output that is named twice: a result for each place in the list, as ONNX Runtime has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import tvm
from onnx import parser

from tests.frontend.running import by_onnxruntime, run
from tvm_megcc import backend, relay
from tvm_megcc.frontend import from_onnx

CPU = tvm.cpu()
X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)

#: What is named twice -> the graph's outputs, of `float[2, 3] x` and `bool c`; and its nodes.
CASES = {
    "a result": ("y, z, y", "y = Neg (x) z = Abs (x)"),
    "the only result": ("y, y", "y = Neg (x)"),
    "three times": ("y, y, y, z", "y = Neg (x) z = Abs (y)"),
    "a value that is read": ("y, z, y", "y = Neg (x) z = Relu (y)"),
    "an input": ("x, y, x", "y = Neg (x)"),
    "a constant": ("k, y, k", "k = Constant <value_floats = [1.0, 2.0]> () y = Neg (x)"),
    "in branches": (
        "y, z",
        "y, z = If (c) <then_branch = t () => (a, a) { a = Neg (x) },"
        " else_branch = e () => (b, b) { b = Abs (x) }>",
    ),
    "in a branch": (
        "y, z, z",
        "y, z = If (c) <then_branch = t () => (a, a) { a = Neg (x) },"
        " else_branch = e () => (b, d) { b = Abs (x) d = Relu (x) }>",
    ),
    "in a loop": (
        "y, z, s, y",
        "n = Constant <value_int = 3> () y, z, s = Loop (n, c, x, x) <body = b"
        " (int64 i, bool e, float[2, 3] v, float[2, 3] u) => (e, w, w, w) { w = Sub (u, v) }>",
    ),
    "in a scan": (
        "y, q, r",
        "o = Constant <value_floats = [0.0, 0.0, 0.0]> () y, q, r = Scan (o, x)"
        " <num_scan_inputs = 1, body = b (float[3] v, float[3] u) => (w, w, w) { w = Sub (u, v) }>",
    ),
}


def model(outputs: str, nodes: str) -> onnx.ModelProto:
    names = ", ".join(f"float[{name}_rows] {name}" for name in outputs.split(", "))
    text = f"agraph (float[2, 3] x, bool c) => ({names}) {{ {nodes} }}"
    found = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]> {text}')
    for port in found.graph.output:
        port.type.tensor_type.ClearField("shape")
    return found


def name_apart(graph: onnx.GraphProto) -> None:
    """Give outputs names of their own, by Identity."""
    for k, port in enumerate(graph.output):
        if port.name in [before.name for before in graph.output[:k]]:
            graph.node.add(op_type="Identity", input=[port.name], output=[f"{port.name}_{k}"])
            port.name = f"{port.name}_{k}"
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                name_apart(attribute.g)


@pytest.mark.parametrize("case", CASES)
def test_output_twice_is_there_twice(case: str) -> None:
    proto = model(*CASES[case])
    imported = from_onnx(proto)
    names = CASES[case][0].split(", ")
    assert [port.name for port in imported.outputs] == names
    # ONNX Runtime leaves the second output of a branch as it was where both have one name.
    reference = onnx.ModelProto.FromString(proto.SerializeToString())
    name_apart(reference.graph)
    for c in (True, False):
        feeds = {"x": X, "c": np.array(c)}
        wanted = by_onnxruntime(reference, feeds)
        found = run(imported, feeds)
        assert len(found) == len(wanted) == len(names)
        for have, want in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(have, want)


@pytest.mark.slow
def test_output_twice_has_two_ports_in_tvm_and_in_onnx_s_backend(tmp_path: Path) -> None:
    proto = model(*CASES["a result"])
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {"x": X, "c": np.array(True)})
    assert [port.name for port in session.get_outputs()] == ["y", "z", "y"]
    found = backend.prepare(proto).run([X, np.array(True)])
    mod, params = relay.frontend.from_onnx(proto)
    relay.build(mod, target="tvm_megcc", params=params).export_library(tmp_path / "twice.so")
    module = relay.GraphModule(tvm.runtime.load_module(str(tmp_path / "twice.so"))["default"](CPU))
    module.set_input("x", X)
    module.run()
    assert module.get_output_names() == ["y", "z", "y"]
    for k, want in enumerate(wanted):
        np.testing.assert_array_equal(found[k], want)
        np.testing.assert_array_equal(module.get_output(k).numpy(), want)
