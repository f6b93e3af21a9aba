"""Shapes that change in the C VM: the API, allocators that fail, forged images, poison."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper

from tvm_megcc import driver
from tvm_megcc.errors import ToolError
from tvm_megcc.host import package, toolchain

from . import changing
from .test_runtime import HOST, compile_and_run


@pytest.mark.slow
def test_api_and_failing_allocators(tmp_path: Path) -> None:
    compile_and_run("test_shapes.c", [changing.write(tmp_path / "changing")], tmp_path)


@pytest.mark.slow
def test_inputs_that_wait_in_the_arena(tmp_path: Path) -> None:
    where = changing.write(tmp_path / "changing", io="arena")
    compile_and_run("test_shapes_io.c", [where], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("-DMEGCC_DEBUG",)], ids=["release", "poison"])
def test_outputs_of_any_size(tmp_path: Path, flags: tuple[str, ...]) -> None:
    where = changing.write(tmp_path / "changing")
    exe = toolchain.build(where, HOST, build_dir=tmp_path / "b", sanitize=True, extra_cflags=flags)
    manifest = package.load(where).manifest
    assert manifest["outputs"][2]["shape"] == ["3*m"]
    rng = np.random.default_rng(0)
    for n in (0, 1, 3, 8):
        for shift in (-9, 0, 9):  # none, some and all are positive
            x = (rng.standard_normal((n, 4)) + shift).astype("float32")
            b = rng.standard_normal(n).astype("float32")
            found = toolchain.run_package(exe, HOST, {"x": x, "b": b}, manifest).outputs
            for name, want in changing.expected(x, b).items():
                np.testing.assert_allclose(found[name], want, rtol=1e-5)


#: Arguments of the runner, and why it ends.
ENDS = [
    (["--shape", "x=3,4", "--shape", "b=4"], "4 and 3"),
    (["--shape", "x=3,4"], "'b', dim 0"),
    (["--input", "b=/dev/null"], "/dev/null: not a regular file"),
    (["--outputs", "/dev/null/x"], "/dev/null/x: Not a directory"),
    ([], ""),
]


def test_the_runner_frees_what_the_context_has_allocated(tmp_path: Path) -> None:
    where = changing.write(tmp_path / "changing")
    exe = toolchain.build(where, HOST, build_dir=tmp_path / "b", sanitize=True)
    for args, words in ENDS:
        shapes = [] if "--shape" in args else ["--shape", "x=3,4", "--shape", "b=3"]
        done = subprocess.run([exe, *shapes, "--profile", *args], capture_output=True, text=True)
        # LeakSanitizer would have its own status, and say more.
        assert done.returncode == bool(words), done.stderr
        assert words in done.stderr and done.stderr.count("\n") == bool(words)


@pytest.mark.slow
def test_a_refusal_names_the_node(tmp_path: Path) -> None:
    """Dims of two names that meet in a node, and are not equal at run time."""
    nodes = [
        helper.make_node("Add", ["x", "z"], ["s"], name="sum of both"),
        helper.make_node("MatMul", ["s", "w"], ["y"], name="product"),
    ]
    shapes = {"x": ["n", 4], "z": ["m", 4], "w": ["k", 3], "y": None}
    x, z, w, y = (helper.make_tensor_value_info(k, T.FLOAT, d) for k, d in shapes.items())
    graph = helper.make_graph(nodes, "g", [x, z, w], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    driver.compile_model(model, tmp_path / "pkg", archs=[HOST])
    exe = toolchain.build(tmp_path / "pkg", HOST, build_dir=tmp_path / "b")
    manifest = package.load(tmp_path / "pkg").manifest
    for (n, m, k), words in (
        ((3, 5, 4), "sum_of_both.* 3 and 5"),
        ((3, 3, 9), "product.* 9 and 4"),
    ):
        sizes = {"x": (n, 4), "z": (m, 4), "w": (k, 3)}
        feeds = {name: np.zeros(size, np.float32) for name, size in sizes.items()}
        with pytest.raises(ToolError, match=words):
            toolchain.run_package(exe, HOST, feeds, manifest)
