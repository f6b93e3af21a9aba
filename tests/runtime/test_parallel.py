"""A caller's thread pool: a call whose output takes the place of its input is not split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from tvm_megcc import frontend
from tvm_megcc.codegen_c import bytecode, emit
from tvm_megcc.pipeline import to_program

from . import programs as p
from .forged import HOST, Image
from .test_runtime import SANITIZE, compile_and_run

SHAPE = [1, 16, 24, 24]


def depthwise() -> onnx.ModelProto:
    """A depthwise 3x3 convolution between two others: its output begins a row before its input."""
    rng = np.random.default_rng(0)
    shapes = {"a": (16, 16, 1, 1), "b": (16, 1, 3, 3), "c": (16, 16, 1, 1)}
    weights = [
        numpy_helper.from_array(rng.standard_normal(shape).astype("f4"), name)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Conv", ["x", "a"], ["h"]),
        helper.make_node("Conv", ["h", "b"], ["g"], group=16, pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["g", "c"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(name, T.FLOAT, SHAPE) for name in "xy"]
    graph = helper.make_graph(nodes, "depthwise", ports[:1], ports[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_second_half_first(tmp_path: Path) -> None:
    mod = frontend.from_onnx(depthwise()).mod
    program = to_program(mod, HOST, name="dw", input_names=["x"], output_names=["y"])
    package = p.write_program(tmp_path / "dw", program)
    (tmp_path / "dw.bin").write_bytes(
        emit.package({HOST: program}, name="dw", weights="bin")[f"model/model_{HOST}.bin"]
    )
    image = Image.of(tmp_path / "dw.bin")
    calls = [at for name, at in image.instructions() if name == "CALL"]
    serial = [at for at in calls if image.words[at + 4] == bytecode.SERIAL]
    assert serial, "no output lies over its input: a test of nothing"
    names = ["-DIMAGE=dw_image", "-DKERNELS=dw_kernels", '-DHEADER="dw.h"']
    split = compile_and_run("test_parallel.c", [package], tmp_path, flags=[*SANITIZE, *names])
    assert 0 < int(split) <= len(calls) - len(serial)
