"""Requantisation in integers: what floats give, to the bit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "codegen_c" / "include"
COUNT = 4_000_000


@pytest.mark.slow
@pytest.mark.parametrize(("compiler", "half"), [("gcc", 0), ("clang", 0), ("clang", 1)])
def test_integers_give_what_floats_give(compiler: str, half: int, tmp_path: Path) -> None:
    program = tmp_path / "requant"
    command = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
    command += [f"-DMEGCC_FIXED_HALF={half}"]  # as without products of 64 bits
    source = HERE / "requant_driver.c"
    if compiler == "clang":
        command += ["-fsanitize=undefined", "-fno-sanitize-recover=undefined"]
    subprocess.run([*command, f"-I{INCLUDE}", source, "-o", program, "-lm"], check=True)
    done = subprocess.run([program, str(COUNT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-500:]


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_steps_of_f32_in_integers(compiler: str, tmp_path: Path) -> None:
    program = tmp_path / "f32"
    command = [compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
    if compiler == "clang":
        command += ["-fsanitize=undefined", "-fno-sanitize-recover=undefined"]
    source = HERE / "f32_driver.c"
    subprocess.run([*command, f"-I{INCLUDE}", source, "-o", program, "-lm"], check=True)
    done = subprocess.run([program, str(COUNT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-500:]
