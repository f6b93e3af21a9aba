"""What a module says of its own work, in its attributes: for passes, which write, and lower."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

import tvm

from tvm_megcc.core.work import Work

ATTRIBUTE = "tvm_megcc.work"
IN_FLOAT = "tvm_megcc.in_float"


def with_reasons(mod: tvm.IRModule, reasons: Mapping[str, str]) -> tvm.IRModule:
    """`mod`, which says which quantised operators stay in float, and why."""
    return mod.with_attr(IN_FLOAT, json.dumps(reasons, sort_keys=True)) if reasons else mod


def with_work(mod: tvm.IRModule, multiply_adds: Mapping[str, int]) -> tvm.IRModule:
    """`mod`, which says what it computes."""
    why = json.loads(str(mod.attrs[IN_FLOAT])) if mod.attrs and IN_FLOAT in mod.attrs else {}
    work = Work(dict(sorted(multiply_adds.items())), why)
    return mod.with_attr(ATTRIBUTE, json.dumps(asdict(work), sort_keys=True))


def work_of(mod: tvm.IRModule) -> Work | None:
    """What `with_work` has written."""
    if not mod.attrs or ATTRIBUTE not in mod.attrs:
        return None
    return Work(**json.loads(str(mod.attrs[ATTRIBUTE])))
