"""The memory plan of a package as a picture.

Enters: the facts of `tvm_megcc.cli.inspect.summary`, and one of the architectures. Leaves: SVG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm_megcc.errors import InputError
from tvm_megcc.memory import Interval, Problem, Solution
from tvm_megcc.memory.plot import Band, svg
from tvm_megcc.report.labels import band_text, group_text, kept_text


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
    groups = entry.get("streamed", ())
    return svg(
        problem,
        solution,
        title=title,
        peak_name=memory["peak_call"],
        rows=_rows(memory["blocks"], groups),
        bands=[_band(group) for group in groups],
    )


def _rows(
    blocks: Sequence[Mapping[str, Any]], groups: Sequence[Mapping[str, Any]]
) -> dict[int, str]:
    """Position of each block that is a line buffer -> its rows, and the image's."""
    return {
        number: kept_text(buffer)
        for group in groups
        for buffer in group["buffers"]
        for number, block in enumerate(blocks)
        if block["name"] == buffer["name"]
        and group["first_step"] <= block["first"] <= group["last_step"]
    }


def _band(group: Mapping[str, Any]) -> Band:
    whole, short = group_text(group), band_text(group)
    texts = (whole, short, short.split(",")[0])
    return Band(group["first_step"], group["last_step"] + 1, texts)


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
