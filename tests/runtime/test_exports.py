"""What shared libraries of packages export: all that the headers call MEGCC_API, and no more."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tvm_megcc.host import toolchain

from . import programs as p

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks nm for ELF's dynamic symbols")
HOST = toolchain.host_arch()


def said(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def declared(package: Path) -> set[str]:
    """What the headers declare with MEGCC_API, and the table's name without its mark."""
    text = "\n".join(path.read_text() for path in (package / "include").glob("*.h"))
    names = set(re.findall(r"^MEGCC_API[^;(]*?(\w+)[(;]", text, re.M))
    renamed = re.findall(r"^#define (\w+) (\w+)$", text, re.M)
    return names | {new for old, new in renamed if old in names}


def exported(library: Path) -> set[str]:
    return {line.split()[-1] for line in said("nm", "-D", "--defined-only", library).splitlines()}


def check(package: Path, library: Path) -> None:
    listed = (line.split() for line in said("nm", "--defined-only", library).splitlines())
    there = {row[-1] for row in listed if "megcc_" in row[-1] or "corners" in row[-1]}
    api = declared(package) & there
    assert exported(library) == api
    assert {"megcc_run", "megcc_status_string", "corners_image", "corners_kernels"} <= api
    assert len(there - api) > 10, "what is not exported is there nevertheless"


def test_all_of_the_public_headers_is_the_api() -> None:
    for path in sorted((Path(__file__).parents[2] / "runtime" / "include").glob("*.h")):
        functions = re.findall(r"^(?!typedef|MEGCC_API|//)\w.*\(.*", path.read_text(), re.M)
        assert not functions, f"{path.name}: MEGCC_API is missing"


@pytest.mark.slow
@pytest.mark.parametrize(("compiler", "weights"), [("gcc", "c"), ("clang", "incbin")])
def test_hidden_visibility_exports_the_api_alone(
    tmp_path: Path, compiler: str, weights: str
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    package = p.write_corners(tmp_path / "package", HOST, weights=weights)
    shared = linked(package, compiler, "-fvisibility=hidden", "THREADS=1")
    check(package, shared)


@pytest.mark.slow
def test_a_program_may_hide_the_api_too(tmp_path: Path) -> None:
    package = p.write_corners(tmp_path / "package", HOST)
    assert not exported(linked(package, "cc", "-fvisibility=hidden -DMEGCC_API="))


def linked(package: Path, compiler: str, flags: str, *options: str) -> Path:
    """A shared library of all that `make lib` has compiled."""
    flags = f"EXTRA_CFLAGS=-O0 -fPIC {flags}"
    said("make", "-s", "-j2", "-C", package, "lib", f"CC={compiler}", flags, *options)
    library = package / "library.so"
    whole = ["-Wl,--whole-archive", package / "libmodel.a", "-Wl,--no-whole-archive"]
    said(compiler, "-shared", "-o", library, *whole, "-pthread")
    return library


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("cmake"), reason="apt install cmake")
def test_cmake_makes_a_shared_library(tmp_path: Path) -> None:
    """Which the package's own runner uses."""
    package = p.write_corners(tmp_path / "package", HOST)
    build = tmp_path / "build"
    options = ["-DBUILD_SHARED_LIBS=ON", "-DTHREADS=ON", "-DCMAKE_BUILD_TYPE=Debug"]
    said("cmake", "-S", package, "-B", build, *options)
    said("cmake", "--build", build, "-j2")
    check(package, build / "libmegcc_corners.so")
    inputs = p.corners_inputs()
    outputs = toolchain.run_package(build / "run", HOST, inputs, p.manifest(package)).outputs
    p.check_corners(inputs, outputs)
    said("cmake", "--install", build, "--prefix", tmp_path / "installed")
    assert list((tmp_path / "installed").glob("lib*/**/libmegcc_corners.so"))
