"""Reports on a module's work in its attributes: passes write them, ``lower`` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import tvm

from tvm_megcc.core.work import Work
from tvm_megcc.relax_tools.attributes import read, written

ATTRIBUTE = "tvm_megcc.work"
IN_FLOAT = "tvm_megcc.in_float"
WIDENED = "tvm_megcc.widened"


def with_reasons(mod: tvm.IRModule, reasons: Mapping[str, str]) -> tvm.IRModule:
    """Note which quantised operators stay in float, and why."""
    return written(mod, IN_FLOAT, reasons) if reasons else mod


def with_widened(mod: tvm.IRModule, reasons: Mapping[str, str]) -> tvm.IRModule:
    """Add to the notes which quantised weights became floats, and why."""
    return written(mod, WIDENED, {**(read(mod, WIDENED) or {}), **reasons}) if reasons else mod


def with_work(
    mod: tvm.IRModule, multiply_adds: Mapping[str, int], tied: Mapping[str, str]
) -> tvm.IRModule:
    """Note in the module its multiply-adds by type, and how each tied table is stored.

    A tied table is an embedding that is also the weights of a product.
    """
    counts = dict(sorted(multiply_adds.items()))
    work = Work(counts, read(mod, IN_FLOAT) or {}, read(mod, WIDENED) or {}, dict(tied))
    return written(mod, ATTRIBUTE, asdict(work))


def work_of(mod: tvm.IRModule) -> Work | None:
    """The notes of `with_work`, or None."""
    row = read(mod, ATTRIBUTE)
    return row and Work(**row)
