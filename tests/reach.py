"""What of the kernel library a model makes use of: kernels, and codes of their operators.

A code is a value that an operator's contract lists: a function (``REDUCE_MAX``), an activation, a
flag such as ``trans_b``. Enters: a model. Leaves: `Point`s; `points` are all that there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import tvm

from tvm_megcc import driver, frontend, passes
from tvm_megcc.codegen_c.sources import kernel_operator
from tvm_megcc.core.machine import ARCHITECTURES
from tvm_megcc.core.preference import DEFAULT, Preference
from tvm_megcc.core.program import Call, Program
from tvm_megcc.fuse.assigning import assigned
from tvm_megcc.kernels import contract, registry
from tvm_megcc.memory_options import MemoryOptions

#: ``kernel reduce_f32``, ``reduce func REDUCE_MAX``, ``matmul trans_b 1``.
Point = str


@cache
def _points_of(op: str) -> dict[tuple[str, int], Point]:
    """What the facts of an operator may be, where its contract says: (fact, value) -> point.

    An activation behind an operator is the same code for all of them.
    """
    found = contract.contract(op)
    points = {}
    for fact, values in found.facts.items():
        for value in values:
            names = [n for n, code in found.codes.items() if code == value and _names(op, fact, n)]
            where = "act" if fact == "act" else f"{op} {fact}"
            points[fact, value] = f"{where} {names[0] if len(names) == 1 else value}"
    return points


def _names(op: str, fact: str, name: str) -> bool:
    """Whether a macro may be the name of a fact's value: flags have none; two names are none."""
    if fact == "act" or name.startswith("MEGCC_ACT_"):
        return name.startswith("MEGCC_ACT_") and (fact == "act" or (op, fact) == ("unary", "func"))
    return fact in ("func", "mode", "coord", "round") and name.startswith(f"{op.upper()}_")


@cache
def points() -> frozenset[Point]:
    """All that can be reached: to compute nothing by a kernel of its own (unary NONE) is none."""
    found = {f"kernel {kernel.stem}" for kernel in registry.kernels()}
    found |= {point for op in contract.operators() for point in _points_of(op).values()}
    return frozenset(found - {"unary func MEGCC_ACT_NONE"})


def reached(
    model: onnx.ModelProto | str | Path,
    archs: Sequence[str] = ARCHITECTURES,
    shapes: Mapping[str, Any] | None = None,
    preference: Preference = DEFAULT,
    cache: str | None = None,
) -> set[Point]:
    """What a model reaches on some architectures.

    With `cache` its inputs 1 and 2 are caches of this type, whose results are outputs 1 and 2.

    Raises
    ------
    tvm_megcc.errors.MegccError
        When it cannot be compiled.
    """
    imported = frontend.from_onnx(model, shapes)
    mod = imported.mod
    if cache is not None:
        names = [port.name for port in imported.inputs]
        mod = passes.CacheDtype(cache, "main", [(1, 1), (2, 2)], names)(mod)
    for stage in ("canonicalise", "layout", "forward_memory"):
        mod = passes.stages(archs[0], preference=preference)[stage](mod)
    return matched(mod, archs, preference)


def streamed(model: onnx.ModelProto, archs: Sequence[str]) -> set[Point]:
    """What calls in bands of rows reach: kernels that no other call has."""
    found: set[Point] = set()
    memory = MemoryOptions(stream=1)
    for program in driver.compile_programs(model, archs, memory=memory).values():
        assert isinstance(program, Program)
        for call in program.calls:
            if isinstance(call, Call) and call.rows is not None:
                kernel = program.kernels[call.kernel]
                found.add(f"kernel {kernel.template}")
                if kernel.template:
                    codes = _points_of(kernel_operator(kernel.template))
                    rows = ((macro.lower(), value) for macro, value in kernel.defines)
                    facts = {(name, int(value)) for name, value in rows if value.isdigit()}
                    found |= {codes[row] for row in facts if row in codes}
    return found


def matched(
    mod: tvm.IRModule, archs: Sequence[str] = ARCHITECTURES, preference: Preference = DEFAULT
) -> set[Point]:
    """What a Relax module reaches that is ready to be given kernels."""
    found: set[Point] = set()
    for arch in archs:
        ready = passes.HoldCasts()(passes.NarrowBf16Weights(arch)(mod))
        for _, _, matches in assigned(ready, arch, preference).functions:
            for match in matches.values():
                found.update(f"kernel {kernel.stem}" for kernel in match.kernels)
                codes = _points_of(match.request.op)
                found |= {codes[row] for row in match.request.facts.items() if row in codes}
    return found
