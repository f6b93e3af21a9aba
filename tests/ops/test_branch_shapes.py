"""An If whose branches want inputs of other sizes: the wrong one is an error when it is taken."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from tests.ops.packages import Arrays, signs
from tvm_megcc import driver
from tvm_megcc.dynamic_options import DynamicOptions
from tvm_megcc.errors import ToolError
from tvm_megcc.host import package, toolchain

pytestmark = pytest.mark.slow

TEXT = """
    <ir_version: 9, opset_import: ["" : 17]>
    agraph (float[1, n] x, int64[1] rate) => (float[1, 2] y)
    <float[4, 2] wide = {1, 2, 3, 4, 5, 6, 7, 8}, float[3, 2] narrow = {1, -1, 2, -2, 3, -3},
     int64[1] four = {4}> {
        which = Equal (rate, four)
        y = If (which) <
            then_branch = yes () => (float[1, 2] a) { a = MatMul (x, wide) },
            else_branch = no () => (float[1, 2] b) { b = MatMul (x, narrow) }
        >
    }"""


def answer(x: np.ndarray, rate: int) -> np.ndarray:
    wide = np.arange(1, 9, dtype="f4").reshape(4, 2)
    narrow = np.array([[1, -1], [2, -2], [3, -3]], "f4")
    return x @ (wide if rate == 4 else narrow)


def built(folder: Path, text: str = TEXT, **options: Any) -> Any:
    model: onnx.ModelProto = parser.parse_model(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        driver.compile_model(model, folder / "pkg", archs=("host",), **options)
    opened = package.load(folder / "pkg")
    arch = opened.choose("host")
    exe = toolchain.build(opened.path, arch, build_dir=folder / "build", sanitize=True)
    return lambda feed: toolchain.run_package(exe, arch, feed, opened.manifest).outputs


def check(run: Any, lengths: tuple[int, ...]) -> None:
    for length in lengths:
        for rate in (3, 4):
            feed: Arrays = {"x": signs(1, length), "rate": np.array([rate])}
            if rate == length:
                np.testing.assert_array_equal(run(feed)["y"], answer(feed["x"], rate))
            else:
                with pytest.raises(ToolError, match="out of range"):
                    run(feed)


@pytest.mark.parametrize("length", [3, 4])
def test_fixed_size(length: int, tmp_path: Path) -> None:
    check(built(tmp_path, input_shapes={"x": [1, length]}), (length,))


def test_open_size(tmp_path: Path) -> None:
    check(built(tmp_path), (3, 4))


def test_listed_sizes(tmp_path: Path) -> None:
    listed = DynamicOptions(listed=({"x": (1, 3)}, {"x": (1, 4)}))
    check(built(tmp_path, dynamic=listed), (3, 4))


#: What squeezes a dim where another one is 1.
SQUEEZES = """
    <ir_version: 9, opset_import: ["" : 17]> agraph (float[n, k] x) => (y)
    <int64 one = {1}, int64[1] axis = {0}> {
        dims = Shape (x)
        last = Gather (dims, one)
        which = Equal (last, one)
        r = If (which) <
            then_branch = yes () => (a) { a = Squeeze (x, axis) },
            else_branch = no () => (b) { b = Identity (x) }
        >
        y = Relu (r)
    }"""


def test_squeeze_by_the_size_of_another_dim(tmp_path: Path) -> None:
    run = built(tmp_path, SQUEEZES)
    np.testing.assert_array_equal(run({"x": np.ones((1, 1), "f4")})["y"], [1])
    with pytest.raises(ToolError, match="out of range"):
        run({"x": np.ones((1, 3), "f4")})
