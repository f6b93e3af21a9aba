"""What a module says of its own work, in its attributes: for passes, which write, and lower."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

import tvm

from tvm_megcc.core.work import Work

ATTRIBUTE = "tvm_megcc.work"
IN_FLOAT = "tvm_megcc.in_float"
WIDENED = "tvm_megcc.widened"


def with_reasons(mod: tvm.IRModule, reasons: Mapping[str, str]) -> tvm.IRModule:
    """`mod`, which says which quantised operators stay in float, and why."""
    return mod.with_attr(IN_FLOAT, json.dumps(reasons, sort_keys=True)) if reasons else mod


def with_widened(mod: tvm.IRModule, reasons: Mapping[str, str]) -> tvm.IRModule:
    """`mod`, which says which quantised weights became floats, and why, besides what it said."""
    said = {**_said(mod, WIDENED), **reasons}
    return mod.with_attr(WIDENED, json.dumps(said, sort_keys=True)) if reasons else mod


def _said(mod: tvm.IRModule, attribute: str) -> dict[str, str]:
    found = mod.attrs and attribute in mod.attrs
    return dict(json.loads(str(mod.attrs[attribute]))) if found else {}


def with_work(
    mod: tvm.IRModule, multiply_adds: Mapping[str, int], tied: Mapping[str, str]
) -> tvm.IRModule:
    """`mod`, which says what it computes, and how it has tables that are weights, too."""
    counts = dict(sorted(multiply_adds.items()))
    work = Work(counts, _said(mod, IN_FLOAT), _said(mod, WIDENED), dict(tied))
    return mod.with_attr(ATTRIBUTE, json.dumps(asdict(work), sort_keys=True))


def work_of(mod: tvm.IRModule) -> Work | None:
    """What `with_work` has written."""
    if not mod.attrs or ATTRIBUTE not in mod.attrs:
        return None
    return Work(**json.loads(str(mod.attrs[ATTRIBUTE])))
