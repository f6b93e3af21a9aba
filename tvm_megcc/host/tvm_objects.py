"""A package with files for TVM's FFI -> objects for a shared library, and the tools that join them.

Sources and flags are the package's own, so that the numbers are.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tvm_megcc.codegen_c.emit.compiled import can_draw, can_fail
from tvm_megcc.core.contents import Content, to_bytes
from tvm_megcc.errors import ToolError
from tvm_megcc.host import files, toolchain

Package = Mapping[str, Content]


def facts(package: Package) -> tuple[str, bool, bool, bool]:
    """C name; whether shapes change, data may end runs, and random numbers are drawn."""
    manifest = json.loads(to_bytes(package["manifest.json"]))
    has_shapes = any("functions" in row for row in manifest["per_arch"].values())
    opcodes = manifest["opcodes"]
    return manifest["c_name"], has_shapes, can_fail(opcodes), can_draw(opcodes)


@contextmanager
def compiled(
    package: Package,
    arch: str,
    cc: str,
    flags: Sequence[str] = (),
    progress: toolchain.Progress | None = None,
) -> Iterator[list[str]]:
    """Paths of the objects of `package` but its runner's, as long as the block runs.

    Raises ToolError if the compiler is missing or fails.
    """
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory:
        source, build = Path(directory) / "package", Path(directory) / "build"
        source.mkdir()
        files.write_tree(dict(package), source)
        flags = ["-fPIC", *flags, *(f"-I{path}" for path in _include_paths())]
        toolchain.build(
            source,
            arch,
            build_dir=build,
            cc=cc,
            extra_cflags=flags,
            runner=False,
            progress=progress,
        )
        yield [str(path) for path in sorted((build / "obj").rglob("*.o"))]


def _include_paths() -> list[str]:
    """Folders of the headers of TVM's FFI."""
    from tvm_ffi import libinfo

    return sorted({libinfo.find_include_path(), libinfo.find_dlpack_include_path()})


def run(command: list[str], what: str) -> str:
    """The output of a tool; ToolError, with its purpose `what`, if it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise ToolError(
            f"{what}: {command[0]} does not run ({error.strerror}); install it"
        ) from error
    if done.returncode != 0:
        raise toolchain.failure(f"{what} ({command[0]})", done.stdout + done.stderr)
    return done.stdout
