"""A package of a region -> one object file that exports one function, for TVM's linker.

The sources and flags are the package's own, so that the numbers are; every other symbol is made
local, so that regions, other packages and the program they are linked into never meet.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tvm_megcc.codegen_c.emit.compiled import can_fail
from tvm_megcc.codegen_c.emit.tvm_region import tvm_region_files
from tvm_megcc.errors import ToolError
from tvm_megcc.host import files, toolchain
from tvm_megcc.host.shared_library import ffi_include_paths, objects_of


def build(
    package: Mapping[str, str | bytes], symbol: str, arch: str, out: Path, *, cc: str | None = None
) -> None:
    """Compile `package` with the wrapper ``__tvm_ffi_<symbol>`` into `out`.

    Parameters
    ----------
    package : mapping of path to contents
        For one machine, with its weights in the objects.
    symbol : str
        The function's name in TVM.
    arch : str
        The machine.
    out : path
        The relocatable object.
    cc : str, optional
        Instead of `toolchain.find_compiler`'s.

    Raises
    ------
    ToolError
        When the compiler, its linker or its objcopy is missing or fails.
    """
    compiler = cc or toolchain.find_compiler(arch)
    facts = json.loads(package["manifest.json"])
    wrapper = tvm_region_files(
        symbol,
        facts["c_name"],
        has_shapes=any("functions" in row for row in facts["per_arch"].values()),
        can_fail=can_fail(facts["opcodes"]),
    )
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory:
        source, objects = Path(directory) / "package", Path(directory) / "build"
        source.mkdir()
        files.write_tree({**package, **wrapper}, source)
        flags = ["-fPIC", *(f"-I{path}" for path in ffi_include_paths())]
        toolchain.build(source, arch, build_dir=objects, cc=compiler, extra_cflags=flags)
        whole = Path(directory) / "whole.o"
        command = compiler.split()
        _run([*command, "-r", "-nostdlib", "-o", str(whole), *objects_of(objects)], symbol)
        objcopy = _run([*command, "-print-prog-name=objcopy"], symbol).strip()
        _run([objcopy, f"--keep-global-symbol=__tvm_ffi_{symbol}", str(whole), str(out)], symbol)


def _run(command: list[str], symbol: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise ToolError(
            f"region {symbol}: {command[0]} cannot be run ({error.strerror})"
        ) from error
    if done.returncode != 0:
        words = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise ToolError(f"region {symbol}: {command[0]} failed:\n{words}")
    return done.stdout
