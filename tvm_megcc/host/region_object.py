"""Packages of regions -> one object that exports a function for each, for TVM's linker.

The sources and flags are the package's own, so that the numbers are. Regions share what is the
same in their packages: the runtime, kernels, and weights, so that clones of one function for other
sizes, as `IRModule.dispatch` makes them, hold them once. Every symbol but the functions is made
local: the object meets neither other packages nor what it is linked with.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tvm_megcc.codegen_c.emit.build_files import makefile
from tvm_megcc.codegen_c.emit.compiled import can_fail
from tvm_megcc.codegen_c.emit.tvm_library import tvm_region_files
from tvm_megcc.core.machine import machine
from tvm_megcc.errors import ToolError
from tvm_megcc.host import files, toolchain
from tvm_megcc.host.shared_library import ffi_include_paths, objects_of

Package = Mapping[str, str | bytes]


def build(regions: Mapping[str, Package], arch: str, out: Path, *, cc: str | None = None) -> None:
    """Compile regions for one machine.

    Parameters
    ----------
    regions : mapping of symbol to package
        The function ``__tvm_ffi_<symbol>`` will run the package, whose C name is the symbol and
        whose weights are in its objects.
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
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory:
        source, objects = Path(directory) / "package", Path(directory) / "build"
        source.mkdir()
        files.write_tree(joined(regions, arch), source)
        flags = ["-fPIC", *(f"-I{path}" for path in ffi_include_paths())]
        toolchain.build(
            source, arch, build_dir=objects, cc=compiler, extra_cflags=flags, runner=False
        )
        whole = str(Path(directory) / "whole.o")
        command = compiler.split()
        _run([*command, "-r", "-nostdlib", "-o", whole, *objects_of(objects)])
        objcopy = _run([*command, "-print-prog-name=objcopy"]).strip()
        kept = [f"--keep-global-symbol=__tvm_ffi_{symbol}" for symbol in regions]
        _run([objcopy, *kept, whole, str(out)])


def joined(regions: Mapping[str, Package], arch: str) -> dict[str, str | bytes]:
    """The files of one build of several packages, with a function for TVM around each.

    What packages have in common they have under the same path: a kernel's link name follows from
    all that it is made of. What is a region's own gets the region's name.
    """
    made: dict[str, str | bytes] = {"Makefile": makefile((machine(arch),))}
    shared: dict[bytes, str] = {}  # weights -> their symbol
    facts = {symbol: json.loads(package["manifest.json"]) for symbol, package in regions.items()}
    wrappers = tvm_region_files(
        {
            symbol: (
                any("functions" in row for row in found["per_arch"].values()),
                can_fail(found["opcodes"]),
            )
            for symbol, found in facts.items()
        }
    )
    for symbol, package in regions.items():
        assert facts[symbol]["c_name"] == symbol
        model = str(package["model/model.c"])
        for path, data in package.items():
            if path.startswith("src/") or path in ("include/megcc.h", f"include/{symbol}.h"):
                assert made.setdefault(path, data) == data, path
            elif path.startswith("model/weights") and isinstance(data, bytes):
                stem = path.removeprefix("model/").removesuffix(".c.bin")
                own = f"{symbol}_{stem}"
                name = shared.setdefault(data, own)
                model = re.sub(rf"\b{own}\b", name, model)
                if name == own:
                    text = str(package[f"model/{stem}.c"])
                    made[f"model/{own}.c"] = text.replace(f'"{stem}.inc"', f'"{own}.inc"')
                    made[f"model/{own}.c.bin"] = data
        made[f"model/{symbol}.c"] = model
    made["manifest.json"] = "{}\n"
    return {**made, **wrappers}


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise ToolError(
            f"{command[0]}, which builds regions, does not run ({error.strerror}); install it"
        ) from error
    if done.returncode != 0:
        words = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise ToolError(f"building regions: {command[0]} failed:\n{words}")
    return done.stdout
