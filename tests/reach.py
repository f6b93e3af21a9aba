"""What of the kernel library a model makes use of: kernels, and codes of their operators.

A code is a value that an operator's header names (``REDUCE_L1``), an activation, or a flag such as
``trans_b``. Enters: a model. Leaves: `Point`s; `points` are all that there are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import tvm

from tvm_megcc import frontend, passes
from tvm_megcc.control_flow import plain_functions
from tvm_megcc.fuse.match import find_matches
from tvm_megcc.kernels import registry

#: ``kernel reduce_f32``, ``reduce func REDUCE_L1``, ``matmul trans_b 1``.
Point = str

#: Operator -> the fact whose values its header names.
NAMED = {
    "binary": "func", "global_pool": "func", "pad": "mode", "pool2d": "func", "reduce": "func",
    "unary": "func",
}  # fmt: skip
#: Facts of operators whose header names the values of several.
NAMED_BY_FACT = {
    ("resize2d", "mode"): r"NEAREST|LINEAR",
    ("resize2d", "coord"): r"HALF_PIXEL|ALIGN_CORNERS|ASYMMETRIC|PYTORCH_HALF_PIXEL",
    ("resize2d", "round"): r"FLOOR|CEIL|PREFER_FLOOR|PREFER_CEIL",
}
#: Facts that are numbers from 0 on, and how many there are.
FLAGS = {
    "conv2d": {"residual": 3},
    "layer_norm": {"scale": 2, "bias": 2, "rms": 2},
    "matmul": {"trans_b": 2, "rhs_const": 2, "bias": 2, "residual": 3},
    "resize2d": {"nchw": 2},
    "softmax": {"log": 2},
}

_MACRO = r"^#define {}_({}) (\d+)$"


@cache
def names_of(op: str, fact: str) -> dict[int, str]:
    """Code -> name of a fact's values, {} where they have none."""
    text = (registry.OP_DIR / f"{op}.h").read_text()
    pattern = NAMED_BY_FACT.get((op, fact), r"\w+" if NAMED.get(op) == fact else None)
    rows = re.findall(_MACRO.format(op.upper(), pattern), text, re.MULTILINE) if pattern else []
    names = {int(code): f"{op.upper()}_{name}" for name, code in rows}
    if fact == "act" or (op, fact) == ("unary", "func"):
        text = (registry.OP_DIR.parent / "megcc_act.h").read_text()
        rows = re.findall(_MACRO.format("MEGCC_ACT", r"\w+"), text, re.MULTILINE)
        names |= {int(code): f"MEGCC_ACT_{name}" for name, code in rows}
    return names


@cache
def points() -> frozenset[Point]:
    """All that can be reached: to compute nothing by a kernel of its own (unary NONE) is none."""
    found = {f"kernel {path.stem}" for path in registry.KERNEL_DIR.glob("*.c")}
    for op, fact in [*NAMED.items(), *NAMED_BY_FACT]:
        found |= {f"{op} {fact} {name}" for name in names_of(op, fact).values()}
    for op, facts in FLAGS.items():
        found |= {f"{op} {fact} {n}" for fact, count in facts.items() for n in range(count)}
    found |= {f"act {name}" for name in names_of("conv2d", "act").values()}
    return frozenset(found - {"unary func MEGCC_ACT_NONE"})


def reached(
    model: onnx.ModelProto | str | Path,
    archs: Sequence[str] = registry.ARCHITECTURES,
    shapes: Mapping[str, Any] | None = None,
) -> set[Point]:
    """What a model reaches on some architectures.

    Raises
    ------
    tvm_megcc.errors.MegccError
        When it cannot be compiled.
    """
    mod = frontend.from_onnx(model, shapes).mod
    for stage in ("canonicalise", "layout", "forward_memory"):
        mod = passes.stages(archs[0])[stage](mod)
    return matched(mod, archs)


def matched(mod: tvm.IRModule, archs: Sequence[str] = registry.ARCHITECTURES) -> set[Point]:
    """What a Relax module reaches that is ready to be given kernels."""
    found: set[Point] = set()
    for _, func in plain_functions(mod):
        for arch in archs:
            for match in find_matches(func, arch).values():
                found.add(f"kernel {match.kernel.stem}")
                found |= {_point(match.request.op, *row) for row in match.request.facts.items()}
    return found & points()


def _point(op: str, fact: str, value: Any) -> Point:
    name = names_of(op, fact).get(value, value) if isinstance(value, int) else value
    return f"act {name}" if fact == "act" else f"{op} {fact} {name}"
