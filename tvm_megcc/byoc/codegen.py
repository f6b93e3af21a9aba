"""``relax.ext.tvm_megcc``: regions -> objects with the package's own kernels, VM and tables.

TVM's ``RunCodegen`` calls it with all the regions of a module. What it answers are static
libraries: TVM would compile C sources as C++ and all with one set of flags.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tvm
from tvm import relax, tirx

from tvm_megcc import driver, pipeline
from tvm_megcc.byoc.regions import CODEGEN, REGION
from tvm_megcc.core.program import Bundle, Program
from tvm_megcc.core.this_machine import is_native
from tvm_megcc.errors import InputError
from tvm_megcc.host import region_object
from tvm_megcc.memory_options import MemoryOptions
from tvm_megcc.options import CompileOptions
from tvm_megcc.target import llvm_target


def compile_regions(
    functions: Sequence[relax.Function], options: Any, constant_names: Any
) -> list[tvm.runtime.Module]:
    """A static library for each machine that has regions.

    `functions` are sealed regions, as `partition_for_megcc` makes them. TVM passes `options` and
    `constant_names`, both empty: a sealed region has no constants outside. Raises MegccError for a
    function that is no sealed region, or that cannot be compiled.
    """
    packages: dict[str, dict[str, dict[str, Any]]] = {}
    for func in functions:
        symbol = str(func.attrs["global_symbol"])
        program = _program(symbol, func)
        packages.setdefault(program.arch, {})[symbol] = driver.package_files(
            {program.arch: program}
        )
    made = []
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory:
        for arch, regions in packages.items():
            out = Path(directory) / "regions.o"
            region_object.build(regions, arch, out)
            made.append(tvm.runtime.load_static_library(str(out), list(regions)))
            if not is_native(arch):
                made += _of_llvm(arch, f"{next(iter(regions))}_machine")
    return made


def _of_llvm(arch: str, name: str) -> list[tvm.runtime.Module]:
    """An LLVM module with a function that does nothing.

    ``export_library`` has LLVM pack what is no code into an object, for the machine of the LLVM
    module that it finds among the others, or for this one: which would not link.
    """
    target = llvm_target(arch)
    if target is None or not tvm.runtime.enabled("llvm"):
        return []
    nothing = tirx.PrimFunc([], tirx.Evaluate(0)).with_attr("global_symbol", name)
    return [tvm.tirx.build(tvm.IRModule({name: nothing}), target=target)]


def _program(symbol: str, func: relax.Function) -> Program | Bundle:
    if REGION not in func.attrs:
        raise InputError(
            f"'{symbol}' is annotated for {CODEGEN} but no region of it; partition the module with"
            " tvm_megcc.partition_for_megcc"
        )
    region = func.attrs[REGION]
    arch = str(region.machine)
    main = region.module["main"]
    count = len(main.ret_ty.fields) if isinstance(main.ret_ty, relax.TupleType) else 1
    entry = pipeline.Entry(
        symbol,
        [f"argument {k}" for k in range(len(main.params))],
        [f"result {k}" for k in range(count)],
    )
    options = CompileOptions(memory=MemoryOptions(threads=int(region.threads)))
    return pipeline.compile_entry(region.module, arch, entry, options)
