"""Packages of regions -> objects that export one function each, for TVM's linker.

The sources and flags are the package's own, so that the numbers are; every other symbol is made
local, so that regions, other packages and the program they are linked into never meet. Weights are
objects of their own under the name of their bytes: regions that are clones of one another for other
sizes, as `IRModule.dispatch` makes them, share them.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tvm_megcc.codegen_c.emit.compiled import can_fail
from tvm_megcc.codegen_c.emit.tvm_library import tvm_region_files
from tvm_megcc.errors import ToolError
from tvm_megcc.host import files, toolchain
from tvm_megcc.host.shared_library import ffi_include_paths, objects_of

Package = Mapping[str, str | bytes]


def build(
    regions: Mapping[str, Package], arch: str, out: Path, *, cc: str | None = None
) -> dict[str, Path]:
    """Compile regions for one machine.

    Parameters
    ----------
    regions : mapping of symbol to package
        The function ``__tvm_ffi_<symbol>`` will run the package, whose weights are in its objects.
    arch : str
        The machine.
    out : path
        A folder for the relocatable objects.
    cc : str, optional
        Instead of `toolchain.find_compiler`'s.

    Returns
    -------
    dict
        Objects by the symbol that each defines, those of weights included.

    Raises
    ------
    ToolError
        When the compiler, its linker or its objcopy is missing or fails.
    """
    compiler = cc or toolchain.find_compiler(arch)
    made: dict[str, Path] = {}
    for symbol, package in regions.items():
        with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory:
            _Region(symbol, package, arch, compiler, Path(directory)).build(out, made)
    return made


class _Region:
    """The work on one region."""

    def __init__(
        self, symbol: str, package: Package, arch: str, compiler: str, where: Path
    ) -> None:
        self.symbol, self.package, self.arch = symbol, package, arch
        self.compiler, self.where = compiler, where
        self.facts = json.loads(package["manifest.json"])

    def build(self, out: Path, made: dict[str, Path]) -> None:
        """Add the region's objects, and those of weights that are not there yet, to `made`."""
        objects = self._objects()
        renamed = []
        for path, data in self.package.items():
            if not path.startswith("model/weights") or not isinstance(data, bytes):
                continue
            stem = path.removeprefix("model/").removesuffix(".c.bin")
            name = f"megcc_weights_{hashlib.sha256(data).hexdigest()[:16]}"
            renamed.append(f"--redefine-sym={self.facts['c_name']}_{stem}={name}")
            (held,) = (o for o in objects if o.endswith(f"/model/{stem}.o"))
            objects.remove(held)
            if name not in made:
                made[name] = out / f"{name}.o"
                self._objcopy(renamed[-1], held, str(made[name]))
        whole = str(self.where / "whole.o")
        self._run([*self.compiler.split(), "-r", "-nostdlib", "-o", whole, *objects])
        made[self.symbol] = out / f"{self.symbol}.o"
        kept = f"--keep-global-symbol=__tvm_ffi_{self.symbol}"
        self._objcopy(*renamed, kept, whole, str(made[self.symbol]))

    def _objects(self) -> list[str]:
        facts = self.facts
        wrapper = tvm_region_files(
            self.symbol,
            facts["c_name"],
            has_shapes=any("functions" in row for row in facts["per_arch"].values()),
            can_fail=can_fail(facts["opcodes"]),
        )
        source, build = self.where / "package", self.where / "build"
        source.mkdir()
        files.write_tree({**self.package, **wrapper}, source)
        flags = ["-fPIC", *(f"-I{path}" for path in ffi_include_paths())]
        toolchain.build(
            source,
            self.arch,
            build_dir=build,
            cc=self.compiler,
            extra_cflags=flags,
            runner=False,
        )
        return objects_of(build)

    def _objcopy(self, *arguments: str) -> None:
        tool = self._run([*self.compiler.split(), "-print-prog-name=objcopy"]).strip()
        self._run([tool, *arguments])

    def _run(self, command: list[str]) -> str:
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        except OSError as error:
            raise ToolError(
                f"region {self.symbol}: {command[0]} does not run ({error.strerror}); install it"
            ) from error
        if done.returncode != 0:
            words = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
            raise ToolError(f"region {self.symbol}: {command[0]} failed:\n{words}")
        return done.stdout
