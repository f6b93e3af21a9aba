"""A model for the tests of the runtime whose calls run in bands of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from tvm_megcc import frontend
from tvm_megcc.core.program import Program
from tvm_megcc.host import toolchain
from tvm_megcc.memory_options import MemoryOptions
from tvm_megcc.pipeline import compile_module

from . import programs as p

HOST = toolchain.host_arch()


def model(images: int = 1, is_open: bool = False) -> onnx.ModelProto:
    """Three convolutions, the second by a kernel of groups, and a sum with an earlier one.

    With `is_open` the run says how high and how wide the image is.
    """
    rng = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array(rng.standard_normal(shape).astype("f4"), name)

    weights = [weight("w0", 8, 2, 3, 3), weight("w1", 8, 1, 3, 3), weight("w2", 8, 8, 1, 1)]
    size = ("h", "w") if is_open else (24, 20)
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Conv", ["a", "w1"], ["b"], pads=[1, 1, 1, 1], group=8),
        helper.make_node("Conv", ["b", "w2"], ["c"]),
        helper.make_node("Add", ["a", "c"], ["d"]),
        helper.make_node("MaxPool", ["d"], ["e"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["e"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "banded",
        [helper.make_tensor_value_info("x", T.FLOAT, [images, 2, *size])],
        [helper.make_tensor_value_info("y", T.FLOAT, [images, 8, 1, 1])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def program(
    arch: str = HOST, stream: str | int = 1, io: str = "caller", is_open: bool = False
) -> Program:
    mod = frontend.from_onnx(model(2 if io == "stream" else 1, is_open)).mod
    found = compile_module(
        mod,
        arch,
        name="banded",
        input_names=["x"],
        output_names=["y"],
        io=io,
        memory_options=MemoryOptions(stream=stream),
    )
    assert isinstance(found, Program)
    return found


def write(folder: Path, weights: str = "c", arch: str = HOST) -> Path:
    return p.write_program(folder, program(arch), weights)


def write_fed(folder: Path, weights: str = "c", arch: str = HOST) -> Path:
    """The same, but for two planar images that come in by rows."""
    return p.write_program(folder, program(arch, io="stream"), weights)


def write_open(folder: Path, weights: str = "c", arch: str = HOST) -> Path:
    """The same for an image of any height and width."""
    return p.write_program(folder, program(arch, is_open=True), weights)
