"""Several packages in one program: by make, by CMake, installed; and two of one name."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tvm_megcc.codegen_c import emit
from tvm_megcc.errors import InputError
from tvm_megcc.host import toolchain

from . import programs as p

HOST = toolchain.host_arch()

#: A function of its own for each package, in a file of its own: x + what the model adds.
PART = """#include "{name}.h"

float part_{part}(void);
float part_{part}(void) {{
  static union {{
    char bytes[MEGCC_MODEL_BYTES];
    void *align;
  }} model_memory;
  static union {{
    char bytes[{upper}_CONTEXT_BYTES];
    void *align;
  }} context_memory;
  static float x[4] = {{1, 1, 1, 1}}, y[4];
  megcc_model_t *model;
  megcc_context_t *context;
  if (megcc_model_open(&{name}_image, &{name}_kernels, &model_memory, sizeof model_memory,
                       &model) ||
      megcc_context_create(model, &context_memory, sizeof context_memory, &context) ||
      megcc_set_arena(context, 0, 0) || megcc_bind_input(context, 0, x, sizeof x) ||
      megcc_bind_output(context, 0, y, sizeof y) || megcc_run(context)) {{
    return -1;
  }}
  return y[0];
}}
"""
MAIN = """#include <stdio.h>

float part_a(void);
float part_b(void);

int main(void) {
  printf("%g %g\\n", (double)part_a(), (double)part_b());
  return 0;
}
"""


def folders(root: Path, *names: str) -> list[Path]:
    """Packages that add 10, 20, ... and a file of a program for each, beside ``main.c``."""
    (root / "main.c").write_text(MAIN)
    packages = []
    for number, (name, part) in enumerate(zip(names, "ab", strict=True)):
        program = p.adder(HOST, np.full(4, 10 * number + 10), name=name)
        package = p.write(emit.package({HOST: program}, name=name), root / f"package_{part}")
        text = PART.format(name=name, part=part, upper=name.upper())
        (root / f"{part}.c").write_text(text)
        packages.append(package)
    return packages


def run(*command: object, fails: bool = False, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    printed = done.stdout + done.stderr
    assert (done.returncode != 0) == fails, printed
    return printed


def linked(root: Path, packages: list[Path], *, compiler: str = "cc", fails: bool = False) -> str:
    """The program by plain make and a compiler, each file with its own package's headers."""
    objects, libraries = [], []
    for package, part in zip(packages, "ab", strict=True):
        run("make", "-s", "-j2", "-C", package, "lib", f"CC={compiler}")
        item = root / f"{part}.o"
        run(compiler, "-c", root / f"{part}.c", f"-I{package / 'include'}", "-o", item)
        objects.append(item)
        libraries.append(package / "libmodel.a")
    return run(compiler, root / "main.c", *objects, *libraries, "-o", root / "app", fails=fails)


def test_two_models_are_linked_and_have_one_runtime(tmp_path: Path) -> None:
    packages = folders(tmp_path, "cat", "dog")
    linked(tmp_path, packages)
    assert run(tmp_path / "app").split() == ["11", "21"]
    listed = run("nm", tmp_path / "app").split()
    assert listed.count("megcc_run") == 1
    assert {"cat_kernels", "dog_kernels"} <= set(listed), "plain names for other languages"
    for package, name in zip(packages, ("cat", "dog"), strict=True):
        assert (package / f"libmegcc_{name}.a").read_bytes() == (
            package / "libmodel.a"
        ).read_bytes()
        run("make", "-C", package, "clean")
        assert not list(package.glob("*.a"))


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_two_models_of_one_name_are_an_error_that_says_so(tmp_path: Path, compiler: str) -> None:
    """Though members of a library are taken only where something is missing."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    said = linked(tmp_path, folders(tmp_path, "net", "net"), compiler=compiler, fails=True)
    assert "two_packages_are_called_net_so_change_a_module_name" in said


def test_two_headers_of_one_name_are_an_error_that_says_so(tmp_path: Path) -> None:
    a, b = folders(tmp_path, "net", "net")
    both = tmp_path / "both.c"
    both.write_text(f'#include "{a}/include/net.h"\n#include "{b}/include/net.h"\n')
    said = run("cc", "-fsyntax-only", f"-I{a / 'include'}", both, fails=True)
    assert "two packages are called 'net': compile one with another --module-name" in said
    both.write_text(f'#include "{a}/include/net.h"\n#include "{a}/include/net.h"\n')
    run("cc", "-fsyntax-only", f"-I{a / 'include'}", both)


LISTS = """cmake_minimum_required(VERSION 3.10)
project(app C)
{packages}
add_library(part_a STATIC a.c)
target_link_libraries(part_a PRIVATE megcc::{a})
add_library(part_b STATIC b.c)
target_link_libraries(part_b PRIVATE megcc::{b})
add_executable(run main.c)
target_link_libraries(run PRIVATE part_a part_b)
"""


def configured(root: Path, packages: str, a: str, b: str, *, fails: bool = False) -> str:
    (root / "CMakeLists.txt").write_text(LISTS.format(packages=packages, a=a, b=b))
    prefix = f"-DCMAKE_PREFIX_PATH={root / 'installed'}"
    return run("cmake", "-S", root, "-B", root / "build", prefix, fails=fails)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("cmake"), reason="cmake not found: apt install cmake")
def test_cmake_takes_packages_in_and_finds_installed_ones(tmp_path: Path) -> None:
    """Whose program may have targets called `run` and like a model."""
    packages = folders(tmp_path, "cat", "main_loop")
    added = "add_subdirectory(package_a)\nadd_subdirectory(package_b)"
    configured(tmp_path, added, "cat", "main_loop")
    run("cmake", "--build", tmp_path / "build", "-j2")
    assert run(tmp_path / "build" / "run").split() == ["11", "21"]

    installed = tmp_path / "installed"
    alone = tmp_path / "alone"
    run("cmake", "-S", packages[0], "-B", alone, f"-DCMAKE_INSTALL_PREFIX={installed}")
    run("cmake", "--build", alone, "-j2", "--target", "install")
    threaded = ["-DTHREADS=ON", f"-DCMAKE_INSTALL_PREFIX={installed}"]
    run("cmake", "-S", packages[1], "-B", tmp_path / "threaded", *threaded)
    run("cmake", "--build", tmp_path / "threaded", "-j2", "--target", "install")
    found = "find_package(megcc_cat REQUIRED)\nfind_package(megcc_main_loop REQUIRED)"
    shutil.rmtree(tmp_path / "build")
    for package in packages:
        shutil.rmtree(package)
    configured(tmp_path, found, "cat", "main_loop")
    run("cmake", "--build", tmp_path / "build", "-j2")
    assert run(tmp_path / "build" / "run").split() == ["11", "21"]


@pytest.mark.skipif(not shutil.which("cmake"), reason="cmake not found: apt install cmake")
def test_cmake_says_that_two_packages_have_one_name(tmp_path: Path) -> None:
    folders(tmp_path, "net", "net")
    added = "add_subdirectory(package_a)\nadd_subdirectory(package_b)"
    said = configured(tmp_path, added, "net", "net", fails=True)
    assert "Two packages are called 'net'; compile one with another" in said


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("pkg-config"), reason="needs pkg-config")
def test_make_installs_packages_beside_one_another(tmp_path: Path) -> None:
    packages = folders(tmp_path, "cat", "dog")
    stage, prefix = tmp_path / "stage", "/opt/models"
    for package, more in zip(packages, ([], ["THREADS=1"]), strict=True):
        goal = ["install", f"DESTDIR={stage}", f"PREFIX={prefix}", "LIBDIR=lib64", *more]
        run("make", "-s", "-j2", "-C", package, *goal)
    where = {
        "PKG_CONFIG_LIBDIR": str(stage / "opt/models/lib64/pkgconfig"),
        "PKG_CONFIG_SYSROOT_DIR": str(stage),
    }
    query = ["pkg-config", "--cflags", "--libs", "megcc_cat", "megcc_dog"]
    flags = run(*query, **where).split()
    assert "-pthread" in flags and f"-I{stage}/opt/models/include/megcc_cat" in flags
    sources = [tmp_path / name for name in ("main.c", "a.c", "b.c")]
    run("cc", *sources, *flags, "-o", tmp_path / "app")
    assert run(tmp_path / "app").split() == ["11", "21"]


def test_module_names() -> None:
    assert emit.module_name("cat_2") == "cat_2"
    for name, usable in (("my cat", "my_cat"), ("2", "m_2"), ("megcc", "m_megcc"), ("", "model")):
        with pytest.raises(InputError, match=f"module name '{name}' cannot .* take '{usable}'"):
            emit.module_name(name)
