"""The memory plan of a package as a picture.

Enters: the facts of `tvm_megcc.cli.inspect.summary`, and one of the architectures. Leaves: SVG.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm_megcc.errors import InputError
from tvm_megcc.memory import Interval, Problem, Solution
from tvm_megcc.memory.plot import svg


def plan_svg(facts: Mapping[str, Any], arch: str) -> str:
    """The memory plan of one architecture as SVG; InputError if the package has none."""
    entry = facts["archs"][arch]
    if "functions" in entry:
        raise InputError(
            "the shapes of this model can change, and the plan with them; compile it with fixed"
            " --input-shapes to draw the plan for these"
        )
    if "memory" not in entry:
        raise InputError("the package is of an earlier version; compile the model again")
    memory = entry["memory"]
    problem, solution = _one_above_another(entry["arena_bytes"], memory)
    title = f"{facts['name']} for {arch}"
    return svg(problem, solution, title=title, peak_name=memory["peak_call"])


def _one_above_another(arena: int, memory: Mapping[str, Any]) -> tuple[Problem, Solution]:
    """Several pools as a plan of a single arena, one pool above another."""
    pools = memory["pools"]
    base = [sum(pool["bytes"] for pool in pools[:k]) for k in range(len(pools))]
    blocks = memory["blocks"]
    names = [
        f"{pools[b['pool']]['name']}: {b['name']}" if len(pools) > 1 else b["name"] for b in blocks
    ]
    intervals = tuple(
        Interval(name, b["first"], b["last"], b["bytes"])
        for name, b in zip(names, blocks, strict=True)
    )
    offsets = tuple(base[b["pool"]] + b["offset"] for b in blocks)
    bound = memory["lower_bound"]
    solution = Solution(offsets, arena, memory["planner"], bound, memory["optimal"])
    return Problem(intervals), solution
