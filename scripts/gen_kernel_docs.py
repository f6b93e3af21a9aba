#!/usr/bin/env python3
"""Write docs/kernels.md, the table of all kernels, from the header comments of their files.

Usage: ``scripts/gen_kernel_docs.py`` writes the page; with ``--check`` it writes nothing and exits
with status 1 when the page is out of date.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

import pages

from tvm_megcc.kernels import registry
from tvm_megcc.kernels.contract import contract
from tvm_megcc.kernels.kernel_file import KernelFile, Packing

PAGE = Path(__file__).resolve().parents[1] / "docs" / "kernels.md"
_HEAD = """# Kernels

<!-- Written by scripts/gen_kernel_docs.py from the header comments of codegen_c/kernels/*/*.c. -->

The applicable kernel with the highest rank serves a call; what the columns mean is said in
[adding-a-kernel.md](adding-a-kernel.md), the facts of an operator in `codegen_c/include/op/<op>.h`.
"""
_COLUMNS = (
    "kernel", "dtype", "arch", "isa", "when", "rank", "params", "pack", "workspace", "work", "cost",
)  # fmt: skip


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _packing(operand: str, how: Packing) -> str:
    options = ", ".join(f"{k}={v}" for k, v in how.options)
    return f"{operand}={how.name}" + (f"({options})" if options else "")


def _cells(kernel: KernelFile) -> tuple[str, ...]:
    every = {"1": "always", "0": "none"}
    spelled = {key: formula.spelled_out for key, formula in kernel.formulas.items()}
    workspace = spelled["workspace"]
    params = " ".join(f"{macro}={value.text}" for macro, value in kernel.params)
    return (
        f"[{kernel.stem}](../codegen_c/kernels/{kernel.op}/{kernel.path.name})",
        kernel.types.text,
        ", ".join(kernel.archs),
        kernel.isa,
        every.get(spelled["when"]) or _code(spelled["when"]),
        spelled["rank"],
        _code(params),
        _code(" ".join(_packing(*row) for row in kernel.pack)),
        every.get(workspace) or _code(workspace),
        _code(spelled["work"]),
        _code(spelled["cost"]),
    )


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    for op, rows in groupby(registry.listed(), key=lambda k: k.op):
        table = pages.table(_COLUMNS, map(_cells, rows), words=_COLUMNS)
        parts.append(f"\n## {op}\n\n{contract(op).summary}\n\n{table}\n")
    return "".join(parts)


if __name__ == "__main__":
    sys.exit(pages.write_or_check(PAGE, page, __doc__))
