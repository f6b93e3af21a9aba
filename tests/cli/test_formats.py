"""Models of other formats on the command line: which are taken, and the sentence for the rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

SCRIPT = """
from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 3), "float32"), w: R.Tensor((3,), "float32")):
        with R.dataflow():
            y = R.nn.relu(R.add(x, w))
            R.output(y)
        return y
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "net.py"
    path.write_text(SCRIPT)
    np.savez(tmp_path / "weights.npz", w=np.float32([1, 2, 3]))
    return path


def test_compile_and_opt_take_a_module_and_its_weights(tvmc: Callable, script: Path) -> None:
    params = ["--params", script.parent / "weights.npz", "--quiet", "--arch", "arm64"]
    ran = tvmc("compile", script, "-o", script.parent / "pkg", *params)
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    inspected = tvmc("inspect", script.parent / "pkg").out
    assert "input   x: f32" in inspected and "w: f32" not in inspected
    ran = tvmc("opt", script, "--input-shapes", "x:[4,3]", *params)
    assert ran.status == 0 and "materialise" in ran.out


def test_compare_wants_onnx(tvmc: Callable, script: Path) -> None:
    said = tvmc("compare", script, script.parent / "pkg").sentence()
    assert said == (
        f"tvmc: '{script}' is a Relax module; compare has references for ONNX models only"
    )


def test_weights_are_for_modules(tvmc: Callable, model: Path, script: Path) -> None:
    ran = tvmc("compile", model, "-o", "pkg", "--params", script.parent / "weights.npz")
    assert "--params has values for the inputs of a Relax module (.py)" in ran.sentence()


@pytest.mark.parametrize("name", ["net.json", "net.pt", "net.pb", "net.keras"])
def test_files_that_people_take_for_models(tvmc: Callable, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}")
    said = tvmc("compile", tmp_path / name, "-o", tmp_path / "pkg").sentence()
    assert said.startswith(f"tvmc: '{tmp_path / name}': ") and not (tmp_path / "pkg").exists()
