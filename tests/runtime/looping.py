"""A model for the tests of the runtime: a loop whose state grows, and branches of two sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from tvm_megcc import frontend
from tvm_megcc.codegen_c import emit
from tvm_megcc.core.program import Program
from tvm_megcc.host import toolchain
from tvm_megcc.pipeline import compile_module

from . import programs as p

PORTS = [("m", T.INT64, []), ("x", T.FLOAT, ["n", 2]), ("k", T.BOOL, [])]
RESULTS = ["h", "sums", "z"]
HOST = toolchain.host_arch()


def model() -> onnx.ModelProto:
    """Inputs ``m``, ``x (n, 2)`` and ``k``; outputs ``h``, ``sums`` and ``z``.

    ``h`` is x and then m rows of ones; ``sums`` has the sums of its columns after each; z is
    ``abs(x)`` where k is true, else ``-h``.
    """
    weights = [numpy_helper.from_array(np.ones((1, 2), np.float32), "ones")]

    def graph(name, nodes, inputs, outputs):  # noqa: ANN001, ANN202
        ports = [helper.make_tensor_value_info(*row) for row in inputs]
        results = [helper.make_tensor_value_info(n, t, None) for n, t in outputs]
        return helper.make_graph(nodes, name, ports, results)

    body = graph(
        "body",
        [
            helper.make_node("Identity", ["c"], ["c1"]),
            helper.make_node("Concat", ["s", "ones"], ["s1"], axis=0),
            helper.make_node("ReduceSum", ["s1", "axes"], ["y"], keepdims=0),
        ],
        [("i", T.INT64, []), ("c", T.BOOL, []), ("s", T.FLOAT, ["rows", 2])],
        [("c1", T.BOOL), ("s1", T.FLOAT), ("y", T.FLOAT)],
    )
    weights.append(numpy_helper.from_array(np.array([0]), "axes"))
    then = graph("then", [helper.make_node("Abs", ["x"], ["t"])], [], [("t", T.FLOAT)])
    other = graph("other", [helper.make_node("Neg", ["h"], ["e"])], [], [("e", T.FLOAT)])
    nodes = [
        helper.make_node("Loop", ["m", "", "x"], ["h", "sums"], body=body),
        helper.make_node("If", ["k"], ["z"], then_branch=then, else_branch=other),
    ]
    whole = helper.make_graph(
        nodes, "looping", [helper.make_tensor_value_info(*row) for row in PORTS],
        [helper.make_tensor_value_info(n, T.FLOAT, None) for n in RESULTS], weights,
    )  # fmt: skip
    return helper.make_model(whole, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def program(arch: str = HOST) -> Program:
    mod = frontend.from_onnx(model()).mod
    names = [name for name, _, _ in PORTS]
    return compile_module(mod, arch, name="looping", input_names=names, output_names=RESULTS)


def write(folder: Path, weights: str = "c", arch: str = HOST) -> Path:
    """The package of `program`."""
    files = emit.package({arch: program(arch)}, name="looping", weights=weights)
    return p.write(files, folder)
