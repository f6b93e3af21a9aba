"""Compiled objects of packages, kept in the user's cache: packages share kernels and the runtime.

Enters: a folder in which a package is built, and the commands that make would run there. Leaves:
the objects of those that an earlier build ran. An object is found again by all that it depends on:
the compiler, its flags, and the text of its source and of the package's headers that it includes.
What the compiler brings itself counts as the compiler. Where ccache stands for the compiler, it
finds the objects that are not kept here.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tvm_megcc.core import user_cache
from tvm_megcc.host import files

#: How many objects are kept, the latest used ones; and by how many more there are some are dropped.
KEEP, SLACK = 8192, 512

#: What is shared among packages: the runtime, the kernels and the program `run`. The rest reads
#: the weights.
SHARED = ("src/", "runner/", "main.c")

_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*(.)([^\">\n]*)", re.MULTILINE)

#: Flags that write more than the object, or into it where it was built. Of the latter `-g1`, which
#: sanitizers ask for to name lines, is allowed: it has no more than that for a debugger.
_NOT_ALONE = re.compile(
    r"-g(?!1$).*|--coverage|-ftest-coverage|-fprofile.*|-save-temps.*|-fsave.*|-fdump.*|-fstack-usage"
    r"|-fcallgraph-info.*|-ftime-trace.*|-Wa,.*"
)

#: Macros by which a package is built otherwise, and which most of its files do not name.
OPTIONS = ("MEGCC_DEBUG", "MEGCC_THREADS")

#: Variables of the environment that compilers of the GCC family read.
_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH", "SOURCE_DATE_EPOCH")


@dataclass(frozen=True, slots=True)
class Compilation:
    """A command of make's that compiles a file; paths are relative to the folder of the build."""

    words: tuple[str, ...]

    @property
    def source(self) -> str:
        return self.words[-1]

    @property
    def object(self) -> str:
        return self.words[self.words.index("-o") + 1]

    @property
    def folders(self) -> list[str]:
        """Folders of headers, from ``-I``."""
        return [word.removeprefix("-I") for word in self.words if word.startswith("-I")]

    @property
    def is_shared(self) -> bool:
        """Whether packages may have this file in common, and its object is the only output."""
        return self.source.startswith(SHARED) and not any(
            _NOT_ALONE.fullmatch(word) for word in self.words
        )


def compilations(lines: Iterable[str]) -> list[Compilation]:
    """The compilations among the commands that make printed."""
    found = []
    for line in lines:
        words = tuple(line.split())
        if "-c" in words and "-o" in words[:-1] and words[-1].endswith(".c"):
            found.append(Compilation(words))
    return found


def restore(
    where: Path, wanted: Iterable[Compilation], compiler: str
) -> tuple[int, dict[Path, Path]]:
    """Put objects that are known into the folder `where`, as if make had just built them.

    Returns their number, and the missing ones: object -> the place where `keep` puts it once it is
    built.
    """
    root = user_cache.folder("objects")
    who = identity(compiler)
    missing: dict[Path, Path] = {}
    known = 0
    texts = Texts(where)
    if root is None or who is None:
        return known, missing
    for one in wanted:
        target = where / one.object
        if not one.is_shared or target.exists():  # make knows whether it is still right
            continue
        key = _key(texts, one, who)
        if key is None:
            continue
        entry = root / f"{key}.o"
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.utime(entry)
            _copy(entry, target)
            known += 1
        except OSError:
            target.unlink(missing_ok=True)
            missing[target] = entry
    return known, missing


def keep(built: Mapping[Path, Path]) -> None:
    """Remember objects that were built; a full disk is no error."""
    try:
        for target, entry in built.items():
            with files.sibling_directory(entry) as fresh:
                _copy(target, fresh / entry.name)
                for made in sorted(fresh.iterdir()):  # what make knows of an object before it
                    made.rename(entry.with_name(made.name))
        for folder in {entry.parent for entry in built.values()}:
            _drop_old(folder)
    except OSError:
        pass


def _copy(source: Path, target: Path) -> None:
    """Copy an object with its dependencies; a link would be changed by make later."""
    depends = source.with_suffix(".d")
    if depends.exists():
        shutil.copyfile(depends, target.with_suffix(".d"))
    shutil.copyfile(source, target)


def _drop_old(folder: Path) -> None:
    entries = [Path(e) for e in os.scandir(folder) if e.name.endswith(".o")]
    if len(entries) > KEEP + SLACK:
        for old in sorted(entries, key=lambda path: path.stat().st_mtime)[:-KEEP]:
            old.unlink(missing_ok=True)
            old.with_suffix(".d").unlink(missing_ok=True)


def program(compiler: str) -> Path | None:
    """The program that a command of a compiler's runs: behind ccache, the one that this runs."""
    for word in compiler.split()[:2]:
        folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
        places = [shutil.which(word, path=folder) for folder in folders]
        found = [Path(place).resolve() for place in places if place]
        behind = [path for path in found if path.name != "ccache"]
        if behind or Path(word).name != "ccache":
            return next(iter(behind), None)
    return None


def identity(compiler: str) -> str | None:
    """A text that changes with the compiler, also behind ccache; None for a missing compiler."""
    path = program(compiler)
    if path is None:
        return None
    state = path.stat()
    variables = [f"{name}={os.environ[name]}" for name in _VARIABLES if name in os.environ]
    return "\0".join([str(path), str(state.st_size), str(state.st_mtime_ns), *variables])


def _key(texts: Texts, one: Compilation, who: str) -> str | None:
    """The name of an object in the cache; None if its includes are unknown."""
    pairs = zip(one.words, one.words[1:], strict=False)
    before = [word for option, word in pairs if option in ("-include", "-imacros")]
    found = texts.of([*before, one.source], one.folders)
    if found is None:
        return None
    digest = hashlib.sha256(who.encode())
    flags = (
        word for word in one.words if not texts.ignore(word, found) and not _is_unread(word, found)
    )
    for part in (" ".join(flags).encode(), *(p for row in found for p in row)):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()[:40]


def _is_unread(flag: str, found: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a flag names a folder that none of the files `found` is in."""
    folder = os.fsencode(os.path.normpath(flag.removeprefix("-I")))
    is_read = folder == b"." or any(path.startswith(folder + b"/") for path, _ in found)
    return flag.startswith("-I") and not is_read


class Texts:
    """The files of a package as its sources include them, each read once."""

    def __init__(self, where: Path) -> None:
        self.where = where
        self.read: dict[str, tuple[bytes, list[tuple[bytes, bytes]], bytes]] = {}

    def of(
        self, sources: Iterable[str], folders: Sequence[str]
    ) -> list[tuple[bytes, bytes]] | None:
        """Path and digest of sources and of all that they may include, whatever the conditions are.

        What is in none of the folders is the compiler's. None where a macro names a file.
        """
        found: dict[str, bytes] = {}
        left = list(sources)
        while left:
            path = left.pop()
            if path in found:
                continue
            found[path], included, _ = self._file(path)
            for mark, name in included:
                if mark not in b'"<':
                    return None
                near = [os.path.dirname(path)] if mark == b'"' else []
                places = (os.path.join(f, os.fsdecode(name)) for f in (*near, *folders))
                left += [p for p in map(os.path.normpath, places) if (self.where / p).is_file()]
        return [(os.fsencode(path), digest) for path, digest in sorted(found.items())]

    def foreign(self, one: Compilation) -> set[str]:
        """Headers in angle brackets that a source and what it includes may ask for."""
        files = self.of([one.source], one.folders) or []
        marked = (include for path, _ in files for include in self._file(os.fsdecode(path))[1])
        return {os.fsdecode(name) for mark, name in marked if mark == b"<"}

    def ignore(self, flag: str, found: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether a flag defines one of `OPTIONS` that none of the files `found` names."""
        name = flag.removeprefix("-D")
        contents = (self._file(os.fsdecode(path))[2] for path, _ in found)
        return name in OPTIONS and not any(name.encode() in content for content in contents)

    def _file(self, path: str) -> tuple[bytes, list[tuple[bytes, bytes]], bytes]:
        """Its digest, what it includes, and its content."""
        if path not in self.read:
            content = (self.where / path).read_bytes()
            digest = hashlib.sha256(content).digest()
            self.read[path] = digest, _INCLUDE.findall(content), content
        return self.read[path]
