"""The C sources that travel into packages, by name; the only reader of installed data files."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath


@cache
def _read(package: str, path: str) -> str:
    node = files(package)
    for part in PurePosixPath(path).parts:
        node = node.joinpath(part)
    return node.read_text(encoding="utf-8")


def runtime_text(path: str) -> str:
    """Text of a file under ``runtime/``."""
    return _read("tvm_megcc.runtime", path)


def package_text(path: str) -> str:
    """Text of a file under ``codegen_c/package/``."""
    return _read("tvm_megcc.codegen_c", f"package/{path}")


def kernel_text(stem: str) -> str:
    """Text of ``codegen_c/kernels/<stem>.c``."""
    return _read("tvm_megcc.codegen_c", f"kernels/{stem}.c")


def header_text(path: str) -> str | None:
    """Text of a header that kernels include, None when there is no such header."""
    for folder in ("include", "kernels"):
        try:
            return _read("tvm_megcc.codegen_c", f"{folder}/{path}")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            continue
    return None
