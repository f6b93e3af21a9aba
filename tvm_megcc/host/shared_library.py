"""A package -> a TVM library (``.so``), built with a C compiler for the package's architecture.

Enters: the files of a package. Leaves: a library for ``tvm.runtime.load_module``, of the same
sources and flags as the package's own runner, so that the numbers are equal.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tvm_megcc.codegen_c.emit.compiled import can_fail
from tvm_megcc.codegen_c.emit.tvm_library import tvm_library_files
from tvm_megcc.errors import ToolError
from tvm_megcc.host import files, toolchain


def build(
    package: Mapping[str, str | bytes], arch: str, out: Path, *, compiler: str | None = None
) -> None:
    """Compile and link `package` with the wrapper that speaks TVM's FFI.

    Parameters
    ----------
    package : mapping of path to contents
        With its weights as C.
    arch : str
        One that the package was compiled for.
    out : path
        The library; the TVM FFI functions it calls are looked up when it is loaded.
    compiler : str, optional
        Instead of `tvm_megcc.host.toolchain.find_compiler`'s.

    Raises
    ------
    ToolError
        When the compiler is missing or fails.
    """
    cc = compiler or toolchain.find_compiler(arch)
    manifest = json.loads(package["manifest.json"])
    has_shapes = any("functions" in facts for facts in manifest["per_arch"].values())
    fails = can_fail(manifest["opcodes"])
    wrapper = tvm_library_files(manifest["c_name"], has_shapes, fails)
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory:
        source, objects = Path(directory) / "package", Path(directory) / "build"
        source.mkdir()
        files.write_tree({**package, **wrapper}, source)
        flags = ["-fPIC", "-fvisibility=hidden", *(f"-I{path}" for path in ffi_include_paths())]
        toolchain.build(source, arch, build_dir=objects, cc=cc, extra_cflags=flags, runner=False)
        _link([*cc.split(), "-shared", "-o", str(out), *objects_of(objects)])


def ffi_include_paths() -> list[str]:
    """Where the headers of TVM's FFI are."""
    from tvm_ffi import libinfo

    return sorted({libinfo.find_include_path(), libinfo.find_dlpack_include_path()})


def objects_of(build: Path) -> list[str]:
    """The objects of the package but the runner's."""
    obj = build / "obj"
    paths = sorted(obj.rglob("*.o"))
    return [str(p) for p in paths if p != obj / "main.o" and p.parent != obj / "runner"]


def _link(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        words = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise ToolError(f"linking the library failed ({command[0]}):\n{words}")
