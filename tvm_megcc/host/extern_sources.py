"""C files of the user's, with the functions that a model calls, as files of its package.

Enters: a package and paths. Leaves: the package with the files under ``src/``, where its Makefile
and CMakeLists.txt compile them like its own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tvm_megcc.core.contents import Content, to_bytes
from tvm_megcc.errors import InputError

Package = Mapping[str, Content]


def with_sources(package: Package, paths: Sequence[str | os.PathLike[str]]) -> Package:
    """`package` with these files.

    Raises InputError if the model calls no function of the user's, or a file is not C, cannot be
    read, or has the name of one of the package's files.
    """
    if paths and not externs_of(package):
        raise InputError(
            f"'{paths[0]}': the model calls no function of yours; leave out its source"
        )
    added = sources(paths)
    for path in map(Path, paths):
        if f"src/{path.name}" in package:
            raise InputError(
                f"'{path}': the package has another file src/{path.name}; rename yours"
            )
    return {**package, **added} if added else package


def sources(paths: Sequence[str | os.PathLike[str]]) -> dict[str, bytes]:
    """The files' contents by their places in a package.

    Raises InputError if a file is not C, cannot be read, or has a name that packages use or that
    another of the files has.
    """
    found: dict[str, bytes] = {}
    for path in map(Path, paths):
        where = f"src/{path.name}"
        if path.suffix not in (".c", ".h"):
            raise InputError(f"'{path}': functions that a model calls are C, in .c files")
        if where in found or path.name.startswith("megcc_"):
            raise InputError(f"'{path}': the package has another file {where}; rename yours")
        try:
            found[where] = path.read_bytes()
        except OSError as error:
            raise InputError(f"'{path}': cannot be read ({error.strerror})") from None
    return found


def check_supplied(package: Package, paths: Sequence[str | os.PathLike[str]]) -> None:
    """Raise InputError if no file mentions a function that the model calls and the package lacks.

    For packages that are to be linked: the message names the functions.
    """
    text = b"\n".join(Path(path).read_bytes() for path in paths)
    missing = [
        name for name in externs_of(package) if not re.search(rb"\b%s\b" % name.encode(), text)
    ]
    if missing:
        raise InputError(unsupplied(missing))


def externs_of(package: Package) -> list[str]:
    """Names of the functions that the model calls and the package does not have."""
    return list(json.loads(to_bytes(package["manifest.json"])).get("externs", ()))


def unsupplied(names: Sequence[str]) -> str:
    """The message about functions that nobody defines."""
    return (
        f"the model calls {', '.join(names)}, which nobody defines; give the C file with --extern"
        " (externs= in Python), or put it into the package's src/"
    )
