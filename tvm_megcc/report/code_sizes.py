"""Bytes of machine code of each kernel of a package: it is built, and its objects are measured.

Enters: a package and an architecture. Leaves: link name -> bytes of code and constants.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from tvm_megcc.core.this_machine import is_own_family
from tvm_megcc.errors import ToolError
from tvm_megcc.host import toolchain
from tvm_megcc.host.package import Package

#: Names of sections that hold code or constants.
_STORED = (".text", ".rodata")


def code_sizes(package: Package, arch: str) -> dict[str, int]:
    """Bytes of code by kernel, those of the runtime under ``""``.

    Raises ToolError if a tool is missing or the build fails.
    """
    size, nm = (_tool(arch, name) for name in ("size", "nm"))
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as folder:
        library = toolchain.build(package.path, arch, build_dir=folder, runner=False)
        kernels = package.manifest["kernels"]
        found = dict.fromkeys(["", *kernels], 0)
        for path in sorted((library.parent / "obj" / "src").rglob("*.o")):
            symbols = {line.split()[-1] for line in _lines(nm, "-g", "--defined-only", path)}
            # On some systems a symbol has an underscore before what C calls it.
            (name, *_) = [k for k in kernels if k in symbols or f"_{k}" in symbols] or [""]
            found[name] += _bytes(_lines(size, "-A", path))
        return {name: count for name, count in found.items() if count}


def _tool(arch: str, name: str) -> str:
    compiler = toolchain.find_compiler(arch)
    tool = f"{'' if is_own_family(arch) else compiler.removesuffix('gcc')}{name}"
    if shutil.which(tool) is None:
        raise ToolError(f"{tool} is missing; apt install binutils")
    return tool


def _lines(tool: str, *args: str | Path) -> list[str]:
    done = subprocess.run([tool, *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        raise ToolError(f"{tool} cannot read an object of the package: {done.stderr.strip()}")
    return [line for line in done.stdout.splitlines() if line.strip()]


def _bytes(lines: list[str]) -> int:
    rows = (line.split() for line in lines if line.startswith(_STORED))
    return sum(int(row[1]) for row in rows)
