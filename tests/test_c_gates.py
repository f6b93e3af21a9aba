"""What every C file of ours compiles without a word from: strict gcc and clang, tcc, and C++.

Kernels with the parameters of their cases, for every machine, are compiled with the same warnings
in tests/kernels; here is every file once: for any CPU of this architecture, or,
where it needs another one or features, by clang for that machine.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tvm_megcc.codegen_c import emit
from tvm_megcc.codegen_c.emit.tvm_library import tvm_library_files, tvm_region_files
from tvm_megcc.core.machine import machine
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.host import toolchain
from tvm_megcc.kernels import registry

from . import c_warnings
from .runtime import programs as p

pytestmark = [pytest.mark.together, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[1]
_FOLDERS = ("codegen_c/include", "runtime/include", "runtime/src", "runtime/generate")
INCLUDES = [f"-I{ROOT / path}" for path in _FOLDERS]
_BASE = machine(host_arch()).arch.name
HERE = [kernel for kernel in registry.kernels() if kernel.runs_on(_BASE)]
ELSEWHERE = [kernel for kernel in registry.kernels() if not kernel.runs_on(_BASE)]
RUNTIME = sorted(f for d in ("src", "generate") for f in (ROOT / "runtime" / d).glob("*.c"))


@pytest.fixture(scope="module")
def kernel_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The C text of every kernel, as a package has it, in a file of its name."""
    folder = tmp_path_factory.mktemp("kernels")
    files = {kernel.stem: folder / f"{kernel.stem}.c" for kernel in registry.kernels()}
    for kernel in registry.kernels():
        files[kernel.stem].write_text(kernel.sources(), encoding="utf-8")
    return files


def need(compiler: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")


def complaints(commands: list[list[str]]) -> str:
    def run(command: list[str]) -> str:
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stderr if done.returncode or done.stderr else ""

    with ThreadPoolExecutor(2) as pool:
        return "\n".join(filter(None, pool.map(run, commands)))[:5000]


def warnings(compiler: str) -> tuple[str, ...]:
    return (*c_warnings.strict(compiler), *c_warnings.CONVERSIONS)


def strict(compiler: str, files: list[Path], includes: list[str]) -> str:
    """What a compiler says of some files, in two processes."""
    command = [compiler, "-std=c99", *warnings(compiler), "-fsyntax-only", *includes]
    halves = [files[::2], files[1::2]]
    return complaints([[*command, *map(str, half)] for half in halves if half])


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_kernels_and_runtime(compiler: str, kernel_files: dict[str, Path]) -> None:
    need(compiler)
    kernels = [kernel_files[kernel.stem] for kernel in HERE]
    # As in a package, a kernel is told its name, and has a prototype then.
    assert not strict(compiler, [*kernels, *RUNTIME], [*INCLUDES, "-DMEGCC_SYMBOL=megcc_symbol"])


def test_kernels_of_other_machines(kernel_files: dict[str, Path]) -> None:
    need("clang")
    commands = []
    for kernel in ELSEWHERE:
        given = machine("+".join((kernel.archs[0], *kernel.features)))
        flags = (f"--target={given.arch.triple}", *given.flags, "-std=c99", *warnings("clang"))
        told = ["-DMEGCC_SYMBOL=megcc_symbol", *INCLUDES, str(kernel_files[kernel.stem])]
        commands.append(["clang", *flags, "-fsyntax-only", *told])
    assert not complaints(commands)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package for two machines of this architecture and another one, with the wrapper for TVM.

    A kernel and weights are the other machine's own; their files are empty here.
    """
    programs = {name: p.corners(name) for name in (host_arch(), _BASE)}
    other = p.corners("armv7" if _BASE == "arm64" else "arm64")
    kernel = replace(
        other.kernels[0], symbol="t_other", source=p.ADD.source.replace("t_add", "t_other")
    )
    weight = replace(other.weights[0], data=bytes(24))
    programs[other.arch] = replace(
        other,
        kernels=(kernel, *other.kernels[1:]),
        weights=(weight, *other.weights[1:]),
    )
    files = emit.package(programs, name="corners", weights="c", stepping=True, tokenizer=b"MEGT")
    wrapper = tvm_library_files("corners", has_shapes=True, can_fail=True, draws=True)
    region = tvm_region_files({"corners": (True, True, True)})
    folder = p.write({**files, **wrapper}, tmp_path_factory.mktemp("gates"))
    p.write({"src/tvm_corners.c": region["src/tvm_corners.c"]}, folder)
    return folder


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_files_of_a_package(package: Path, compiler: str) -> None:
    need(compiler)
    from tvm_ffi import libinfo

    paths = {libinfo.find_include_path(), libinfo.find_dlpack_include_path()}
    system = [f"-isystem{path}" for path in sorted(paths)]
    files = [f for glob in ("*.c", "*/*.c", "src/kernels/*.c") for f in sorted(package.glob(glob))]
    assert not strict(compiler, files, [f"-I{package / d}" for d in ("include", "src")] + system)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_public_headers_are_cplusplus(package: Path, compiler: str) -> None:
    need(compiler)
    sources = []
    for header in sorted((package / "include").glob("*.h")):
        source = package / f"{header.stem}.cpp"
        source.write_text(f'#include "{header.name}"\n')
        sources.append(str(source))
    of_c = ("-Wmissing-prototypes", "-Wstrict-aliasing=1")
    asked = [option for option in warnings(compiler) if option not in of_c]
    command = [compiler, "-std=c++98", *asked, "-Wno-long-long", "-fsyntax-only"]
    assert len(sources) > 1
    assert not complaints([[*command, f"-I{package / 'include'}", *sources]])


@pytest.mark.skipif(sys.platform != "linux", reason="tcc is looked for on Linux")
def test_tcc_takes_what_is_portable(tmp_path: Path, kernel_files: dict[str, Path]) -> None:
    """The C99 compiler with the fewest extensions; its program gives the right values."""
    need("tcc")
    folder = p.write_corners(tmp_path / "package", "portable")
    command = ["tcc", "-std=c99", "-Wall", "-Werror"]
    # The pool of threads, which packages have on request, takes atomics that C99 has not.
    alone = [[*command, *INCLUDES, "-c", "-o", str(tmp_path / f"{f.stem}.o"), str(f)]
             for f in (*(kernel_files[k.stem] for k in HERE), *RUNTIME)
             if f.name != "megcc_pool.c"]  # fmt: skip
    assert not complaints(alone)
    runner = toolchain.build(folder, "portable", build_dir=tmp_path / "build", cc="tcc")
    inputs = p.corners_inputs()
    outputs = toolchain.run_package(runner, "portable", inputs, p.manifest(folder)).outputs
    p.check_corners(inputs, outputs)
