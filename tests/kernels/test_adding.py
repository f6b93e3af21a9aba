"""docs/adding-a-kernel.md and docs/adding-an-op.md, done as they say in a copy of the sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support_modules import copy_support_modules

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {
    "tvm_megcc": "tvm_megcc",
    "codegen_c": "tvm_megcc/codegen_c",  # as it is installed
    "runtime": "tvm_megcc/runtime",
    "scripts": "scripts",
    "docs": "docs",
    "tests/kernels": "tests/kernels",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The sources, with the folders where the pages name them."""
    for source, target in FOLDERS.items():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / source, tmp_path / target, ignore=ignored, dirs_exist_ok=True)
    (tmp_path / "codegen_c").symlink_to("tvm_megcc/codegen_c")
    copy_support_modules(tmp_path)
    return tmp_path


def blocks(page: str) -> Iterator[tuple[str, str, str]]:
    """(what to do, with which file, text) of the fenced blocks of a page that say so."""
    text = (ROOT / "docs" / page).read_text()
    fence = r"^```\w+ (file|append|row|run)(?:=(\S+))?\n((?s:.*?))^```$"
    for match in re.finditer(fence, text, re.M):
        yield match[1], match[2] or "", match[3]


def follow(page: str, tree: Path) -> str:
    """Do what a page says; what its commands print."""
    printed = ""
    for kind, name, text in blocks(page):
        if kind == "run":
            printed += run(tree, "bash", "-euo", "pipefail", "-c", text)
        elif kind == "row" and name.endswith(".py"):  # behind the other rows of a table
            before, end, after = (tree / name).read_text().partition("\n]\n")
            added = textwrap.indent(text.rstrip(), "    ")
            (tree / name).write_text(f"{before}\n{added},{end}{after}")
        elif kind == "row":  # behind the other rows of a kernel file's header
            before, end, after = (tree / name).read_text().partition("\n//\n")
            (tree / name).write_text(f"{before}\n{text.rstrip()}{end}{after}")
        else:
            with (tree / name).open("w" if kind == "file" else "a") as file:
                file.write(text if kind == "file" else f"\n\n{text}")
    return printed


def run(tree: Path, *command: str) -> str:
    """A command with the copy's modules; what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PYTHONPATH": str(tree), "PATH": path}
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", ["adding-a-kernel.md", "adding-an-op.md"])
def test_adding_every_marked_fence_is_followed(page: str) -> None:
    marked = re.findall(r"^```\w+ .*$", (ROOT / "docs" / page).read_text(), re.M)
    assert len(marked) == len(list(blocks(page))) > 0


MODEL = """
import numpy as np, onnx
from onnx import TensorProto, helper
w = np.random.default_rng(0).standard_normal((8, 16, 3, 3)).astype(np.float32)
node = helper.make_node("{op}", {inputs}, ["y"], **{attributes})
port = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
weights = [onnx.numpy_helper.from_array(w, "w")]
graph = helper.make_graph([node], "one", [port("x", [1, 16, 17, 19])], [port("y", None)], weights)
opset = helper.make_opsetid("", 18)
onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), "model.onnx")
"""


def compared(tree: Path, **model: object) -> str:
    """A package of a model of one node, compared with ONNX's reference; its manifest."""
    run(tree, sys.executable, "-c", MODEL.format(**model))
    run(tree, "tvmc", "compile", "model.onnx", "-o", "package", "--arch", "portable")
    run(tree, "tvmc", "compare", "model.onnx", "package")
    return (tree / "package" / "manifest.json").read_text()


@pytest.mark.slow
def test_adding_a_kernel(tree: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc not found: apt install gcc")
    said = follow("adding-a-kernel.md", tree)
    assert len(re.findall(r"\b1 passed", said)) == 2
    assert "conv2d_nhwc_f32_f2x2 (rank 40): chosen" in said
    assert "matmul_f32_row_wide (rank 16): chosen" in said
    page = (tree / "docs" / "kernels.md").read_text()
    assert "conv2d_nhwc_f32_f2x2" in page and "matmul_f32_row_wide" in page
    attributes = {"pads": [1, 1, 1, 1]}
    manifest = compared(tree, op="Conv", inputs=["x", "w"], attributes=attributes)
    assert "conv2d_nhwc_f32_f2x2" in manifest


@pytest.mark.slow
def test_adding_an_operator(tree: Path) -> None:
    (tree / "tvm_megcc" / "ops" / "onnx" / "lpnormalization.py").unlink()
    follow("adding-an-op.md", tree)
    for name in ("LpNormalization", "Softsign"):
        run(tree, sys.executable, "-c", f"from tvm_megcc import ops; assert ops.find('', '{name}')")
        compared(tree, op=name, inputs=["x"], attributes={})
