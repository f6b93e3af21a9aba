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


I8, U8 = "i8", "u8"
_ADD, _MUL = ({"FUNC": f"QBINARY_{name}", "PRODUCT": p} for p, name in enumerate(("ADD", "MUL")))
_AVG, _SUM = ({"FUNC": f"QPOOL2D_{name}", "PRODUCT": p} for p, name in enumerate(("AVG", "SUM")))
_EVEN, _CUT = ({"ROUND": f"QRESIZE2D_{name}", "SIXTEENTHS": 1} for name in ("EVEN", "CUT"))
_KERNELS = [
    *((0, "qbinary", way, x, y) for way in (_ADD, _MUL) for x, y in ((I8, I8), (U8, U8))),
    *((1, "qpool2d", way, x, y) for way in (_AVG, _SUM) for x, y in ((I8, U8), (U8, I8))),
    *((2, "qresize2d", way, x, x) for way in (_EVEN, _CUT) for x in (I8, U8)),
]


@pytest.mark.slow
@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize(("op", "kernel", "way", "x", "y"), _KERNELS)
def test_kernels_without_floats_give_what_floats_give(
    op: int, kernel: str, way: dict[str, object], x: str, y: str, half: int, tmp_path: Path
) -> None:
    least = {I8: -128, U8: 0}
    macros = {
        "OP": op, "A": x, "B": x, "X": x, "Y": y, "LEAST_X": least[x], "LEAST_Y": least[y],
        "MEGCC_FIXED_HALF": half, **way,
    }  # fmt: skip
    flags = ["-O2", "-ffp-contract=off", f"-I{INCLUDE}", "-fsanitize=undefined"]
    flags += [f"-D{name}={value}" for name, value in macros.items()]
    source = HERE.parents[1] / "codegen_c" / "kernels" / kernel / f"{kernel}_ref.c"
    for soft, name in enumerate(("floats", "integers")):
        # Where a sum is no number at all, floats are divided by 0.
        checks = ["-fno-sanitize-recover=undefined"] if soft else ["-fno-sanitize=undefined"]
        given = [f"-DMEGCC_SYMBOL={name}", f"-DMEGCC_SOFT_FLOATS={soft}"]
        command = ["clang", "-c", *flags, *checks, *given, source, "-o", tmp_path / f"{name}.o"]
        subprocess.run(command, check=True)
    items = [tmp_path / f"{name}.o" for name in ("floats", "integers")]
    program = tmp_path / "program"
    driver = HERE / "soft_floats_driver.c"
    subprocess.run(["clang", *flags, driver, *items, "-lm", "-o", program], check=True)
    done = subprocess.run([program, "4000"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr[-500:]
