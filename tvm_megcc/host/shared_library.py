"""A package -> a TVM library (``.so``), built with a C compiler for the package's architecture.

Enters: the files of a package. Leaves: a library for ``tvm.runtime.load_module``, of the same
sources and flags as the package's own runner, so that the numbers are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tvm_megcc.codegen_c.emit.tvm_library import tvm_library_files
from tvm_megcc.core.contents import Content
from tvm_megcc.host import toolchain, tvm_objects


def build(
    package: Mapping[str, Content],
    arch: str,
    out: Path,
    *,
    compiler: str | None = None,
    progress: toolchain.Progress | None = None,
) -> None:
    """Compile and link `package` with the wrapper that speaks TVM's FFI, into the library `out`.

    `package` has its weights as C, and code for `arch`. The TVM FFI functions that the library
    calls are looked up when it is loaded. `compiler` replaces `toolchain.find_compiler`'s choice;
    `progress` is called with the state of the build. Raises ToolError if the compiler is missing or
    fails.
    """
    cc = compiler or toolchain.find_compiler(arch)
    wrapper = tvm_library_files(*tvm_objects.facts(package))
    flags = ["-fvisibility=hidden"]
    with tvm_objects.compiled({**package, **wrapper}, arch, cc, flags, progress) as objects:
        tvm_objects.run([*cc.split(), "-shared", "-o", str(out), *objects], "linking the library")
