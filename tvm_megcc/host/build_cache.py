"""Built packages, kept in the user's cache so that a second run starts at once.

Enters: a package and an architecture. Leaves: its runner. The key is everything the program depends
on: the package's bytes, the compiler, the flags. Nothing is ever written into the package.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tvm_megcc.core import user_cache
from tvm_megcc.host import files, toolchain
from tvm_megcc.host.package import Package

#: How many programs are kept, the latest used ones.
KEEP = 24

_PARTS = (*toolchain.PARTS, "manifest.json")


@contextmanager
def built(
    package: Package,
    arch: str,
    *,
    threads: bool = False,
    cc: str | None = None,
    flags: Sequence[str] = (),
    sources: Sequence[Path] = (),
    progress: toolchain.Progress | None = None,
) -> Iterator[Path]:
    """The runner of `package` for `arch`, with a pool or without; it may go away after the body.

    `flags` and `sources` are added to the package's own. Raises ToolError if the compiler or make
    is missing, or the build fails.
    """
    root = user_cache.folder("programs")
    compiler = cc or toolchain.find_compiler(arch)
    key = _key(package, compiler, arch, threads, flags, sources)
    entry = None if root is None else root / key
    with _held(entry) as kept:
        if kept is not None:
            yield kept
            return
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory:
        program = toolchain.build(
            package.path,
            arch,
            build_dir=Path(directory) / "build",
            threads=threads,
            cc=compiler,
            extra_cflags=flags,
            extra_sources=sources,
            progress=progress,
        )
        if entry is not None:
            _keep(program, package, entry)
        yield program


@contextmanager
def _held(entry: Path | None) -> Iterator[Path | None]:
    """The program of a cache's entry, None where there is none.

    Another process may drop the entry at any moment, also between two runs of the body's: the body
    has links to its files.
    """
    if entry is None or not (entry / "run").is_file():
        yield None
        return
    with files.sibling_directory(entry) as own:
        try:
            os.utime(entry)
            shutil.copytree(entry, own / "entry", copy_function=_link)
        except OSError:  # it has just gone
            yield None
        else:
            yield own / "entry" / "run"


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)


def _keep(program: Path, package: Package, entry: Path) -> None:
    """Put a program and its model file into the cache; a full disk is no error."""
    try:
        with files.sibling_directory(entry) as fresh:
            made = fresh / "entry"
            (made / "model").mkdir(parents=True)
            shutil.copy2(program, made / "run")
            for model in package.path.glob("model/model_*.bin"):
                shutil.copy2(model, made / "model")
            if not entry.exists():
                made.rename(entry)
        entries = [path for path in entry.parent.iterdir() if (path / "run").is_file()]
        for old in sorted(entries, key=lambda path: path.stat().st_mtime)[:-KEEP]:
            shutil.rmtree(old, ignore_errors=True)
    except OSError:
        pass


def _key(
    package: Package,
    compiler: str,
    arch: str,
    threads: bool,
    flags: Sequence[str],
    sources: Sequence[Path],
) -> str:
    digest = hashlib.sha256()

    def add(data: bytes) -> None:
        digest.update(len(data).to_bytes(8, "little") + data)

    program = Path(shutil.which(compiler.split()[0]) or compiler).resolve()
    state = program.stat() if program.exists() else None
    add(f"{arch} {compiler} {program} {state and (state.st_size, state.st_mtime_ns)}".encode())
    add(str(threads).encode())
    for path, content in files.read_tree(package.path).items():
        if path.split("/")[0] in _PARTS:
            add(path.encode())
            add(content)
    for flag in flags:
        add(flag.encode())
    for source in sources:
        add(source.read_bytes())
    return digest.hexdigest()[:32]
