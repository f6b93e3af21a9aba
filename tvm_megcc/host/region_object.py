"""Packages of regions -> one object that exports a function for each, for TVM's linker.

The sources and flags are the package's own, so that the numbers are. Regions share what is the
same in their packages: the runtime, kernels, and weights, so that clones of one function for other
sizes, as `IRModule.dispatch` makes them, hold them once. Every symbol but the functions is made
local: no name clashes with other packages or with the program.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from tvm_megcc.codegen_c.emit.build_files import makefile
from tvm_megcc.codegen_c.emit.tvm_library import tvm_region_files
from tvm_megcc.core.contents import Content, to_bytes
from tvm_megcc.core.machine import machine
from tvm_megcc.host import toolchain, tvm_objects
from tvm_megcc.host.tvm_objects import Package


def build(regions: Mapping[str, Package], arch: str, out: Path, *, cc: str | None = None) -> None:
    """Compile regions for one machine into a relocatable object `out`.

    The function ``__tvm_ffi_<symbol>`` will run the package of `symbol`, whose C name is the symbol
    and whose weights are in its objects. `cc` replaces `toolchain.find_compiler`'s choice. Raises
    ToolError if the compiler, its linker or its objcopy is missing or fails.
    """
    compiler = cc or toolchain.find_compiler(arch)
    command, what = compiler.split(), "building regions"
    objcopy = tvm_objects.run([*command, "-print-prog-name=objcopy"], what).strip()
    kept = [f"--keep-global-symbol=__tvm_ffi_{symbol}" for symbol in regions]
    with (
        tvm_objects.compiled(joined(regions), arch, compiler) as objects,
        tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory,
    ):
        whole = f"{directory}/whole.o"
        tvm_objects.run([*command, "-r", "-nostdlib", "-o", whole, *objects], what)
        tvm_objects.run([objcopy, *kept, whole, str(out)], what)


def _machines(paths: Iterable[str]) -> list[str]:
    """The machines whose kernels have folders of their own."""
    parts = (path.split("/") for path in paths if path.startswith("src/kernels/"))
    return sorted({part[2].replace("_", "+") for part in parts if len(part) == 4})


def joined(regions: Mapping[str, Package]) -> dict[str, Content]:
    """The files of one build of several packages, with a function for TVM around each.

    What packages have in common they have under the same path: a kernel's link name follows from
    all that it is made of. What is a region's own gets the region's name.
    """
    made: dict[str, Content] = {}
    shared: dict[bytes, str] = {}  # weights -> their symbol
    facts = [tvm_objects.facts(package) for package in regions.values()]
    assert [name for name, *_ in facts] == list(regions)
    wrappers = tvm_region_files(dict(zip(regions, (found[1:] for found in facts), strict=True)))
    for symbol, package in regions.items():
        model = str(package["model/model.c"])
        for path, data in package.items():
            if path.startswith("src/") or path in ("include/megcc.h", f"include/{symbol}.h"):
                same = made.setdefault(path, data)
                assert same == data, path
            elif path.startswith("model/weights") and not isinstance(data, str):
                stem = path.removeprefix("model/").removesuffix(".c.bin")
                own = f"{symbol}_{stem}"
                name = shared.setdefault(to_bytes(data), own)
                model = re.sub(rf"\b{own}\b", name, model)
                if name == own:
                    text = str(package[f"model/{stem}.c"])
                    made[f"model/{own}.c"] = text.replace(f'"{stem}.inc"', f'"{own}.inc"')
                    made[f"model/{own}.c.bin"] = data
        made[f"model/{symbol}.c"] = model
    made["Makefile"] = makefile("regions", [machine(name) for name in _machines(made)])
    made["manifest.json"] = "{}\n"
    return {**made, **wrappers}
