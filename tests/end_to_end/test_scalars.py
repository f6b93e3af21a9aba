"""A scalar input may come as an array of one element, on every way in; nothing else may."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import tvm
from onnx import TensorProto as T
from onnx import helper

from tvm_megcc import driver, relay
from tvm_megcc.errors import InputError
from tvm_megcc.frontend import from_onnx
from tvm_megcc.host import arrays, package, toolchain

X = np.arange(3, dtype="float32")
WAYS = {"scalar": np.float32(2), "one": np.full(1, 2, "float32"), "ones": np.full((1, 1), 2, "f4")}


def model() -> onnx.ModelProto:
    """``y = x * s`` with a scalar s."""
    ports = [
        helper.make_tensor_value_info("x", T.FLOAT, [3]),
        helper.make_tensor_value_info("s", T.FLOAT, []),
    ]
    results = [helper.make_tensor_value_info("y", T.FLOAT, [3])]
    graph = helper.make_graph([helper.make_node("Mul", ["x", "s"], ["y"])], "g", ports, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_shapes_given_for_a_scalar() -> None:
    for shape in ((), (1,), (1, 1)):
        assert from_onnx(model(), {"x": (3,), "s": shape}).inputs[1].shape == ()
    with pytest.raises(InputError, match="'s': 1 dims given, the model has 0"):
        from_onnx(model(), {"s": (2,)})


@pytest.mark.slow
def test_in_the_package(tmp_path: Path) -> None:
    driver.compile_model(model(), tmp_path / "pkg")
    opened = package.load(tmp_path / "pkg")
    arch = opened.choose("host")
    exe = toolchain.build(opened.path, arch, build_dir=tmp_path / "build")
    for value in WAYS.values():
        feed = arrays.check(opened.inputs, {"x": X, "s": value}, "the test")
        assert feed["s"].shape == ()
        for given in (feed["s"], value):
            found = toolchain.run_package(exe, arch, {"x": X, "s": given}, opened.manifest)
            np.testing.assert_array_equal(found.outputs["y"], 2 * X)
    with pytest.raises(InputError, match="'s' has shape"):
        arrays.check(opened.inputs, {"x": X, "s": X[:2]}, "the test")


def test_in_tvm() -> None:
    mod, params = relay.frontend.from_onnx(model())
    m = relay.GraphModule(relay.build(mod, params=params)["default"](tvm.cpu()))
    for value in WAYS.values():
        m.run(x=X, s=value)
        np.testing.assert_array_equal(m.get_output(0).numpy(), 2 * X)
    with pytest.raises(ValueError, match="'s': shape"):
        m.set_input("s", X[:2])
