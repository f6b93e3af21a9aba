"""Compiling needs nothing that only POSIX has: it is hidden, and the modules are used all the same.

The rest of Windows (its paths, its own compilers) is not here: see "Where it compiles" in
docs/machines.md.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tvm_megcc import driver, zoo

pytestmark = pytest.mark.slow

#: Modules of the standard library that Windows has not.
MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")

#: Functions of `os` that Windows has not, but those that the standard library takes by itself.
FUNCTIONS = (
    "chown fchmod fchown fork forkpty getegid geteuid getgid getgroups getloadavg getpgid getpgrp"
    " getpriority getsid getuid killpg lchown mkfifo mknod nice openpty pread pwrite"
    " sched_getaffinity sched_setaffinity sched_yield setgid setpgid setpriority setsid setuid"
    " statvfs sync uname wait wait3 wait4"
).split()

#: What they do for themselves is not ours, so they are loaded before anything is hidden.
OTHERS = "ctypes, importlib, multiprocessing, os, pkgutil, platform, shutil, sys, warnings"

HIDE = (
    f"""
import {OTHERS}
import numpy, onnx, tvm

sys.modules.update(dict.fromkeys({MODULES}))  # importing one is an ImportError
for name in {FUNCTIONS}:
    delattr(os, name)
shutil._use_fd_functions = False
"""
    + """
rename, open_library, open_descriptor = os.rename, ctypes.CDLL.__init__, os.open

def rename_to_new(source, target, **options):
    if os.path.lexists(target):
        raise FileExistsError(17, "exists", target)
    rename(source, target, **options)

def open_named(self, name, *options, **others):
    if name is None:
        raise TypeError("LoadLibrary() argument 1 must be str, not None")
    open_library(self, name, *options, **others)

def open_file(path, *options, **others):
    if os.path.isdir(path):
        raise PermissionError(13, "a directory", path)
    return open_descriptor(path, *options, **others)

def without_proc(event, arguments):
    if event == "open" and str(arguments[0]).startswith("/proc/"):
        raise FileNotFoundError(2, "no such file", arguments[0])

os.rename, os.open, ctypes.CDLL.__init__ = rename_to_new, open_file, open_named
sys.addaudithook(without_proc)
# Windows reads and writes text in a code page unless it is told which encoding it has.
warnings.filterwarnings("error", category=EncodingWarning, module=r"tvm_megcc(\\.|$)")
"""
)

IMPORT = """
import tvm_megcc
for found in pkgutil.walk_packages(tvm_megcc.__path__, "tvm_megcc."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
"""

COMPILE = """
from tvm_megcc.cli import main
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.tuning import records

host_arch()  # asks LLVM, as there is no /proc/cpuinfo
command = ["compile", "tiny_mlp.onnx", "--quiet", "--arch"]
assert main([*command, "host", "-o", "pkg", "--dump-ir", "ir"]) == 0
assert main([*command, "arm64,armv7", "-o", "pkg"]) == 0  # in the place of the first one
assert main([*command, "cortexm", "-o", "pkg.tar"]) == 0
assert main([*command, "portable", "-o", "library", "-f", "arduino"]) == 0
assert main(["inspect", "pkg"]) == 0
records.append("records.json", [])
"""


def python(*arguments: str, folder: Path, **environment: str) -> str:
    """A Python program in a folder; what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("does", [IMPORT, COMPILE], ids=["import", "compile"])
def test_other_hosts(does: str, tmp_path: Path) -> None:
    onnx.save(zoo.build("tiny_mlp"), tmp_path / "tiny_mlp.onnx")
    python("-X", "warn_default_encoding", "-c", HIDE + does, folder=tmp_path)


def test_other_hosts_print_names_that_their_code_page_lacks(tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["größe→"])
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in ("x", "größe→"))
    model = helper.make_model(helper.make_graph([node], "one", [x], [y]), ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    tvmc = ("-m", "tvm_megcc")
    python(*tvmc, "compile", "model.onnx", "-o", "package", folder=tmp_path)
    said = python(*tvmc, "inspect", "package", folder=tmp_path, PYTHONIOENCODING="ascii")
    assert r"output  gr\xf6\xdfe\u2192" in said


#: What clang calls macOS and Windows, and the form of the weights: its assembler takes none in for
#: the second.
SYSTEMS = {"arm64-apple-macos11": "incbin", "x86_64-pc-windows-msvc": "c"}


@pytest.mark.parametrize("triple", SYSTEMS)
def test_other_hosts_compile_the_package(triple: str, tmp_path: Path) -> None:
    """The library's sources become objects of these systems, without their headers."""
    if shutil.which("clang") is None:
        pytest.skip("clang not found: apt install clang")
    onnx.save(zoo.build("tiny_cnn"), tmp_path / "tiny_cnn.onnx")
    package = tmp_path / "package"
    driver.compile_model(
        tmp_path / "tiny_cnn.onnx", package, archs=["arm64", "x86"], weights=SYSTEMS[triple]
    )
    found = sorted(p for folder in ("src", "model") for p in (package / folder).rglob("*.c"))
    objects = tmp_path / "objects"
    objects.mkdir()
    done = subprocess.run(
        ["clang", "-target", triple, "-ffreestanding", "-Wall", "-Werror", "-c"]
        + [f"-I{package / folder}" for folder in ("include", "src")]
        + [str(path) for path in found],
        cwd=objects,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert len(list(objects.glob("*.o*"))) == len(found)
