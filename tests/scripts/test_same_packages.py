"""`scripts/same_packages` sees what differs between two trees, and nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support_modules import copy_support_modules
from tvm_megcc import zoo

from .test_scripts import ROOT, load, needs_cc

same = load("same_packages")


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A copy of what is installed, to change."""
    for folder in ("tvm_megcc", "codegen_c", "runtime"):
        shutil.copytree(ROOT / folder, tmp_path / "tree" / folder)
    return tmp_path / "tree"


@pytest.mark.slow
@needs_cc
def test_same_packages_tells_code_from_comments(changed, tmp_path, capsys) -> None:
    """Another header changes every link name, but the machine code of one of two kernels."""
    if not shutil.which("objdump"):
        pytest.skip("needs objdump")
    model = tmp_path / "m.onnx"
    model.write_bytes(zoo.build("tiny_mlp").SerializeToString())
    header = changed / "codegen_c" / "include" / "megcc_act.h"
    plain = header.read_text()
    header.write_text(plain.replace("megcc_vf_tanh(x)", "megcc_vf_neg(x)"))
    assert header.read_text() != plain

    work = tmp_path / "work"
    arguments = [str(ROOT), str(changed), "--models", str(model), "--work", str(work)]
    assert same.main([*arguments, "--arch", "portable"]) == 1
    said = capsys.readouterr().out
    assert "machine code of 1 kernels: matmul_f32_row\n" in said
    assert "image:" not in said and "plan:" not in said
    assert same.main([*arguments, "--arch", "portable", "--results"]) == 1
    assert "outputs differ: output" in capsys.readouterr().out


@pytest.mark.slow
@needs_cc
def test_same_packages_compares_kernels_without_models(changed, capsys) -> None:
    """What a header says differs by its cases, another body by its instances, a comment by none."""
    shutil.copytree(ROOT / "tests" / "kernels", changed / "tests" / "kernels")
    copy_support_modules(changed)
    path = changed / "codegen_c" / "kernels" / "lut" / "lut_ref.c"
    arguments = [str(ROOT), str(changed), "--kernels", "--only", "lut"]
    plain = path.read_text()
    path.write_text(f"{plain}// a comment\n")
    assert same.main(arguments) == 0
    assert " 0 differ" in capsys.readouterr().out
    path.write_text(plain.replace("// cost: ", "// cost: 3 * ") + "\nint more;\n")
    assert same.main(arguments) == 1
    said = capsys.readouterr().out
    assert "lut_ref case 0: another header" in said and ": another code" in said


def test_same_packages_names_kernels_that_come_and_go() -> None:
    old = {"cases": {"a case 0": "1", "b case 0": "1"}, "code": {"arm64 a": "1"}}
    new = {"cases": {"a case 0": "1", "c case 0": "1"}, "code": {"arm64 a": "does not compile: x"}}
    assert same.kernel_differences(old, old) == []
    assert same.kernel_differences(old, new) == [
        "b case 0: gone",
        "c case 0: new",
        "arm64 a: another code (does not compile: x)",
    ]


def test_same_packages_differences_are_named() -> None:
    old = {
        "weights": "a", "arena bytes": 64, "plan": {}, "image": ["x 1", "CALL 0 'add' 1"],
        "kernels": ["k"], "names": ["add"], "runtime bytes": 1,
    }  # fmt: skip
    assert same.package_differences(old, old) == []
    new = {**old, "image": ["x 1", "CALL 0 'add' 2"], "arena bytes": 128, "kernels": ["l"]}
    assert same.package_differences(old, new) == [
        "arena bytes: 64, now 128",
        "image: \"CALL 0 'add' 1\", now \"CALL 0 'add' 2\"",
        "machine code of 1 kernels: add",
    ]


def test_same_packages_growth_is_by_kernel_without_hashes() -> None:
    old = {
        "functions": {"megcc_add_00112233": 10, "megcc_tir_t_0011223344_00112233": 5, "main": 3},
        "calls": [["megcc_add_00112233", "a"], ["megcc_tir_t_0011223344_00112233", "b"]],
    }
    new = {
        "functions": {"megcc_add_44556677": 30, "megcc_tir_t_9911223344_aa112233": 5, "main": 4},
        "calls": [["megcc_add_44556677", "a"], ["megcc_tir_t_9911223344_aa112233", "b"]],
    }
    assert same.growth(old, new) == [("megcc_add", 20, ["a"]), ("main", 1, [])]


def test_same_packages_unknown_names_are_one_sentence(tmp_path, capsys) -> None:
    assert same.main(["no_such_commit", ".", "--models", "tiny_mlp", "--work", str(tmp_path)]) == 1
    assert "neither a directory nor a commit" in capsys.readouterr().err
    assert same.main([str(tmp_path), ".", "--models", "tiny_mlp", "--work", str(tmp_path)]) == 1
    assert "is no source tree" in capsys.readouterr().err
    assert same.main([".", ".", "--models", "no_model", "--work", str(tmp_path)]) == 1
    assert "no model of the corpus or the zoo" in capsys.readouterr().err
    assert os.listdir(tmp_path) in ([], ["tiny_mlp.onnx"])
