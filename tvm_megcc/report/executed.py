"""Instructions of a program for a Cortex-M by what it calls: for ``tvmc inspect --for``.

Enters: what the board executed, and the package. Leaves: a row for each call, operator, node or
kernel, most instructions first, as lines or for JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tvm_megcc.host import serving
from tvm_megcc.host.footprint import Executed
from tvm_megcc.host.package import Package
from tvm_megcc.report.profile import Row, grouped, profile


def rows(executed: Executed, package: Package) -> tuple[Row, ...]:
    """The calls in the order of the program; their times are 0."""
    shapes = {port.name: port.shape for port in package.inputs}
    sizes = serving.dims_of(package.inputs, shapes)
    found = serving.program_for(package.manifest["per_arch"][executed.arch], sizes)
    assert found is not None, "the example has fixed shapes"
    kernels = [call["kernel"] for call in found[1]["graph"]["calls"]]
    events = [
        {
            "cat": "call",
            "dur": 0.0,
            "args": {
                "run": 0,
                "call": number,
                "kernel": kernels[number],
                "instructions": instructions,
            },
        }
        for number, instructions in executed.calls
    ]
    facts = {
        "machine": executed.arch,
        "inputs": shapes,
        "threads": 1,
        "not_counted": "",
    }
    run = {"cat": "run", "dur": 0.0}
    return profile({"otherData": facts, "traceEvents": [run, *events]}, package).rows


def by(calls: Sequence[Row], grouping: str) -> list[Row]:
    """The rows of a grouping, most instructions first."""
    return sorted(grouped(calls, grouping), key=lambda row: -_instructions(row))


def lines(
    executed: Executed, calls: Sequence[Row], grouping: str, moved_bytes: int = 0
) -> Iterator[str]:
    """For people; `moved_bytes` are those of rows that stay in line buffers."""
    if executed.instructions is None:
        yield f"  instructions are not counted: {executed.not_counted}"
        return
    total = executed.instructions
    yield f"  instructions {total:,} for inputs of zeros, by {grouping}:"
    found = [(_instructions(row), _name(row, grouping)) for row in by(calls, grouping)]
    between = total - sum(count for count, _ in found)
    rest = [(between, "between the calls")]
    if moved_bytes:
        moving = min(executed.copying, between)
        rest = [
            (moving, f"memcpy between the calls: {moved_bytes} bytes of line buffers are moved"),
            (between - moving, "between the calls, bands of rows too"),
        ]
    for count, name in (*found, *rest):
        yield f"  {count:>14,}  {count / total:6.1%}  {name}"


def _name(row: Row, grouping: str) -> str:
    return f"{row.call} {row.template} {row.name}" if grouping == "call" else row.name


def facts(calls: Sequence[Row]) -> dict[str, Any]:
    """For JSON: the calls in their order, and the operators."""
    return {
        "calls": [_facts(row) for row in calls],
        "by_operator": {row.name: _instructions(row) for row in by(calls, "operator")},
    }


def _facts(row: Row) -> Mapping[str, Any]:
    keys = (
        "call", "name", "operators", "nodes", "kernel", "template", "times", "bands",
        "multiply_adds",
    )  # fmt: skip
    return {**{key: getattr(row, key) for key in keys}, "instructions": _instructions(row)}


def _instructions(row: Row) -> int:
    return round(row.instructions or 0)
