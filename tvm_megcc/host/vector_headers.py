"""Headers of vector instructions, parsed once per flags instead of once per kernel.

gcc reads 46,000 lines for ``<immintrin.h>``: a third of what it takes for a kernel of the library.
Enters: what make would compile in a folder. Leaves: rules for make by which the kernels that
include such a header begin with a precompiled one, from the user's cache. Objects are the same, to
the byte; gcc passes over a precompiled header that is not of its own version and flags.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tvm_megcc.core import user_cache
from tvm_megcc.host import files
from tvm_megcc.host.object_cache import Compilation, Texts, identity, program

#: Headers of the compiler's that take long, by what includes them first in every source.
HEADERS = ("immintrin.h", "arm_neon.h")

#: How many sources must want a header that is not there yet: making it takes as long as two.
ENOUGH = 4

#: How many are kept, the latest used ones: each has some 24 MB.
KEEP = 16

_NAME = "megcc_vectors.h"
_GCC = re.compile(r"(.*-)?gcc(-\d+)?")
_PLAIN = re.compile(r"[\w./+@-]+")


def rules(where: Path, wanted: Iterable[Compilation], compiler: str) -> list[str]:
    """Options of make for `wanted`, commands that it would run in the folder `where`.

    None where the compiler is not gcc on Linux, or the cache is not to be used.
    """
    root = user_cache.folder("headers")
    who = identity(compiler)
    if root is None or who is None or not _is_gcc(compiler) or not _PLAIN.fullmatch(str(root)):
        return []
    texts = Texts(where)
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for one in wanted:
        for header in HEADERS:
            if one.is_shared and header in texts.foreign(one):
                groups.setdefault((header, _flags(one)), []).append(one.object)
    found = []
    for (header, flags), objects in sorted(groups.items()):
        folder = _precompiled(root, header, flags, who, len(objects) >= ENOUGH)
        if folder is not None:
            first = f"-isystem {folder} -include {_NAME}"
            found.append(f"--eval={' '.join(objects)}: override EXTRA_CFLAGS += {first}")
    _drop_old(root)
    return found


def _is_gcc(compiler: str) -> bool:
    path = program(compiler)
    return sys.platform == "linux" and path is not None and _GCC.fullmatch(path.name) is not None


def _flags(one: Compilation) -> tuple[str, ...]:
    """Options of a compile command with which a precompiled header for it has to be made."""
    words, found = list(one.words[:-1]), []
    while words:
        word = words.pop(0)
        if word == "-o":
            words.pop(0)
        elif word not in ("-c", "-MMD", "-MP") and not word.startswith("-I"):
            found.append(word)
    return tuple(found)


def _precompiled(
    root: Path, header: str, flags: tuple[str, ...], who: str, may_make: bool
) -> Path | None:
    """The folder of a precompiled header, or None."""
    text = f"#include <stddef.h>\n#include <stdint.h>\n#include <{header}>\n"
    digest = hashlib.sha256("\0".join([who, text, *flags]).encode())
    folder = root / digest.hexdigest()[:40]
    try:
        if (folder / f"{_NAME}.gch").is_file():
            os.utime(folder)
            return folder
        if not may_make:
            return None
        with files.sibling_directory(folder) as fresh:
            source = fresh / _NAME
            source.write_text(text, encoding="ascii")
            command = [*flags, "-x", "c-header", str(source), "-o", f"{source}.gch"]
            subprocess.run(command, check=True, capture_output=True)
            fresh.rename(folder)
    except (OSError, subprocess.CalledProcessError):
        return folder if (folder / f"{_NAME}.gch").is_file() else None  # perhaps somebody else's
    return folder


def _drop_old(root: Path) -> None:
    try:
        whole = [path for path in root.iterdir() if not path.name.startswith(".")]
        for old in sorted(whole, key=lambda path: path.stat().st_mtime)[:-KEEP]:
            shutil.rmtree(old, ignore_errors=True)
    except OSError:
        pass
