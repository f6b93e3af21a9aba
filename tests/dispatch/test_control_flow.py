"""A model with a Loop and an If, dispatched: what is called is specialised with its caller."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import tvm
from onnx import TensorProto as T
from onnx import helper
from tvm import relax

from tests.dispatch.support import machine
from tests.ops.test_control_flow import graph, loop_model
from tvm_megcc import driver, frontend
from tvm_megcc.dispatch import dispatch
from tvm_megcc.dynamic_options import DynamicOptions
from tvm_megcc.host import package, toolchain
from tvm_megcc.relay import Any

pytestmark = pytest.mark.slow

Run = Callable[[dict[str, np.ndarray]], list[np.ndarray]]


def looping_model() -> onnx.ModelProto:
    """``h = x + m x`` with its sums by rows, then ``-x`` or ``x`` and ``h`` one after the other."""
    nodes = [
        helper.make_node("Identity", ["c"], ["c1"]),
        helper.make_node("Add", ["h", "x"], ["h1"]),
        helper.make_node("ReduceSum", ["h1"], ["y"], keepdims=0),
    ]
    body = graph(
        "body", nodes, [("i", T.INT64, []), ("c", T.BOOL, []), ("h", T.FLOAT, ["n", 2])],
        [("c1", T.BOOL), ("h1", T.FLOAT), ("y", T.FLOAT)],
    )  # fmt: skip
    proto = loop_model(
        body, [("m", T.INT64, []), ("x", T.FLOAT, ["n", 2])], [("h", T.FLOAT), ("ys", T.FLOAT)],
        states=("x",),
    )  # fmt: skip
    then = graph("t", [helper.make_node("Neg", ["x"], ["t1"])], [], [("t1", T.FLOAT)])
    both = helper.make_node("Concat", ["x", "h"], ["e1"], axis=0)
    other = graph("e", [both], [], [("e1", T.FLOAT)])
    proto.graph.node.append(
        helper.make_node("If", ["k"], ["z"], then_branch=then, else_branch=other)
    )
    proto.graph.input.append(helper.make_tensor_value_info("k", T.BOOL, []))
    proto.graph.output.append(helper.make_tensor_value_info("z", T.FLOAT, None))
    return proto


def in_relax(proto: onnx.ModelProto) -> Run:
    imported = frontend.from_onnx(proto)
    mod = dispatch(
        imported.mod, "main", {"x": (Any(), 2)}, lambda shapes: {"x": {0: [(1, 2), (2, 4)]}}
    )
    relax.analysis.well_formed(mod)
    vm = machine(mod)

    def run(feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        arrays = [tvm.runtime.tensor(feed[port.name]) for port in imported.inputs]
        return [found.numpy() for found in vm["main"](*arrays)]

    return run


def in_c(proto: onnx.ModelProto, folder: Path) -> Run:
    driver.compile_model(
        proto, folder / "pkg", dynamic=DynamicOptions(buckets={"x": {0: [(1, 2), (2, 4)]}})
    )
    opened = package.load(folder / "pkg")
    arch = opened.choose("host")
    exe = toolchain.build(opened.path, arch, build_dir=folder / "build", sanitize=True)

    def run(feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        found = toolchain.run_package(exe, arch, feed, opened.manifest).outputs
        return [found[port.name] for port in proto.graph.output]

    return run


@pytest.mark.parametrize("where", ["relax", "c"])
def test_every_bucket(tmp_path: Path, where: str) -> None:
    proto = looping_model()
    run = in_relax(proto) if where == "relax" else in_c(proto, tmp_path)
    session = ort.InferenceSession(proto.SerializeToString())
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 6):
        for k in (True, False):
            feed = {
                "m": np.array(3),
                "x": rng.standard_normal((n, 2)).astype(np.float32),
                "k": np.array(k),
            }
            for got, want in zip(run(feed), session.run(None, feed), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
