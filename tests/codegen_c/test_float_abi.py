"""32-bit Arm: packages take the compiler's calling convention, hard or soft, and its NEON unit.

Android's armeabi-v7a and Debian's armel pass floats in integer registers; Debian's armhf does not.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.runtime import programs as p
from tvm_megcc.codegen_c import emit
from tvm_megcc.host import toolchain

ANDROID = "clang --target=armv7a-linux-androideabi21"
#: Compiler, the flags that a package adds, whether floats then stand in the FPU's registers.
COMPILERS = [
    ("arm-linux-gnueabihf-gcc", ["-march=armv7-a", "-mfpu=neon"], True),
    ("arm-linux-gnueabihf-gcc -mfloat-abi=softfp", ["-march=armv7-a", "-mfpu=neon"], False),
    (
        "arm-linux-gnueabi-gcc",
        ["-march=armv7-a", "-mfpu=neon", "-mfloat-abi=softfp"],
        False,
    ),
    (ANDROID, ["-march=armv7-a", "-mfpu=neon"], False),
    (
        "clang --target=armv7-linux-gnueabi",
        ["-march=armv7-a", "-mfpu=neon", "-mfloat-abi=softfp"],
        False,
    ),
    ("arm-none-eabi-gcc -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard", [], True),
    ("arm-none-eabi-gcc", ["-mthumb", "-march=armv6-m"], False),
]
NEON = """#include <arm_neon.h>
float sum(const float *x);
float sum(const float *x) { return vgetq_lane_f32(vld1q_f32(x), 0); }
"""


def need(compiler: str) -> None:
    if shutil.which(compiler.split()[0]) is None:
        pytest.skip(f"{compiler.split()[0]} is not installed")


def of_machine(words: list[str]) -> list[str]:
    return [word for word in words if word.startswith("-m") and not word.startswith("-mcpu")]


def said(*command: object, **options: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = emit.package({name: p.corners(name) for name in ("armv7", "cortexm")}, name="corners")
    return p.write(files, tmp_path_factory.mktemp("abi") / "package")


@pytest.mark.parametrize(("compiler", "flags", "hard"), COMPILERS)
def test_make_keeps_the_calling_convention(
    package: Path, compiler: str, flags: list[str], hard: bool
) -> None:
    need(compiler)
    # Android's C library is not here; the flags follow from the compiler alone.
    lines = said("make", "-n", "-C", package, "lib", f"CC={compiler}").splitlines()
    command = next(line for line in lines if " -c -o obj/src/megcc_run.o" in line).split()
    mine = command[len(compiler.split()) :]
    assert of_machine(mine) == flags
    macros = said(*compiler.split(), *of_machine(mine), "-dM", "-E", "-x", "c", "/dev/null")
    assert ("__ARM_PCS_VFP 1" in macros) == hard
    if "none" not in compiler:
        source = package / "neon.c"
        source.write_text(NEON)
        free = ["-ffreestanding", "-Werror", "-fsyntax-only"]
        said(*compiler.split(), *of_machine(mine), *free, source)


@pytest.mark.parametrize("flag", ["-mfloat-abi=softfp", "-mfloat-abi=hard", "-mfloat-abi=soft"])
def test_the_users_flags_come_last(package: Path, flag: str) -> None:
    compiler = "arm-linux-gnueabihf-gcc"
    need(compiler)
    command = ["make", "-n", "-C", package, "lib", f"CC={compiler}", f"EXTRA_CFLAGS={flag}"]
    line = next(line for line in said(*command).splitlines() if " -c -o " in line)
    assert [word for word in line.split() if "float-abi" in word][-1] == flag


@pytest.mark.emulator
def test_a_package_of_the_soft_convention_runs(tmp_path: Path) -> None:
    compiler = "arm-linux-gnueabi-gcc"
    need(compiler)
    need("qemu-arm")
    folder = p.write_corners(tmp_path / "package", "armv7")
    runner = toolchain.build(folder, "armv7", build_dir=tmp_path / "build", cc=compiler)
    inputs = p.corners_inputs()
    outputs = toolchain.run_package(runner, "armv7", inputs, p.manifest(folder)).outputs
    p.check_corners(inputs, outputs)


@pytest.mark.slow
def test_an_android_compiler_makes_the_library(tmp_path: Path) -> None:
    """Without its C library, which is not here: none of whose headers the library cannot spare."""
    need(ANDROID)
    need("readelf")
    folder = p.write_corners(tmp_path / "package", "armv7")
    said("make", "-s", "-C", folder, "lib", f"CC={ANDROID} -ffreestanding", "AR=ar")
    facts = said("readelf", "-A", folder / "libmodel.a")
    assert "Tag_Advanced_SIMD_arch: NEONv1" in facts and "Tag_ABI_VFP_args" not in facts


APP = """cmake_minimum_required(VERSION 3.10)
project(app C)
add_subdirectory(package)
add_library(app STATIC app.c)
target_link_libraries(app PRIVATE megcc::corners)
"""


@pytest.mark.parametrize(("compiler", "flags", "hard"), COMPILERS)
def test_cmake_keeps_it_and_the_apps_own(
    package: Path, tmp_path: Path, compiler: str, flags: list[str], hard: bool
) -> None:
    need("cmake")
    need(compiler)
    (tmp_path / "package").symlink_to(package)
    (tmp_path / "CMakeLists.txt").write_text(APP)
    (tmp_path / "app.c").write_text('#include "corners.h"\n')
    first, *own = compiler.split()
    system = "Generic" if "none" in compiler else "Linux"
    said(
        "cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_C_COMPILER={first}",
        f"-DCMAKE_C_FLAGS={' '.join(own)}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        f"-DCMAKE_SYSTEM_NAME={system}", "-DCMAKE_SYSTEM_PROCESSOR=arm",
        "-DCMAKE_C_COMPILER_WORKS=1",
    )  # fmt: skip
    commands = json.loads((tmp_path / "b" / "compile_commands.json").read_text())
    found = {Path(row["file"]).name: row["command"].split() for row in commands}
    added = of_machine(found["megcc_run.c"])
    # A compiler for Android has NEON by itself.
    expected = [] if compiler == ANDROID else flags
    assert added == of_machine(own) + expected
    public = flags if "none" in compiler else []
    assert of_machine(found["app.c"]) == of_machine(own) + public


def test_cmake_leaves_a_cpu_with_neon_as_it_is(package: Path, tmp_path: Path) -> None:
    """The compiler would warn of -march behind an -mcpu that contradicts it."""
    compiler = "arm-linux-gnueabihf-gcc -mcpu=cortex-a7 -mfpu=neon-vfpv4"
    test_cmake_keeps_it_and_the_apps_own(package, tmp_path, compiler, [], True)
