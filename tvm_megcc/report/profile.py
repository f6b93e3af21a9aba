"""Times of a run's calls, joined with the package's facts of them.

Enters: a trace, that a package's runner has written (``run --trace``), and the package. Leaves: a
`Profile`: for each call the time, instructions where they were counted, multiply-adds and bytes;
and the same of all calls of an operator, a node of the ONNX model, or a kernel.

Example
-------
>>> a, b = (Row(k, name, (), "k", "mul", 1.0, 1.0, 1.0, None, 10, 4) for k, name in enumerate("ab"))
>>> row, = grouped([a, b], "kernel")
>>> row.name, row.ms, row.gflops
('mul', 2.0, 2e-05)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvm_megcc.errors import InputError
from tvm_megcc.host import serving
from tvm_megcc.host.package import Package
from tvm_megcc.report import labels

#: What rows can be grouped by; ``call`` is each one by itself.
GROUPINGS = ("call", "operator", "node", "kernel")

Trace = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """A call, or several together; times and counts are those of one run, in the mean."""

    call: int | None  # number of the call; None for several calls
    name: str  # of the call's value in the model, or what the calls have in common
    nodes: tuple[str, ...]  # the nodes of the model that it computes, or is a part of
    kernel: str  # link name
    template: str  # the kernel's file without its end, or ``generated``
    #: `ms`, `least_ms`: mean of the runs, and their least.
    ms: float
    least_ms: float
    times: float  # executions in a run: more than 1 in a loop, fewer in a branch
    instructions: float | None  # executed; None where they were not counted
    #: `multiply_adds`, `bytes`: of one execution, and of its operands, each counted once; of a
    #: call in bands, of all of its bands. None where it depends on data, or nothing is known.
    multiply_adds: int | None
    bytes: int | None
    calls: int = 1
    bands: int = 1  # executions that compute the whole result: more than 1 in a streamed group

    @property
    def operators(self) -> str:
        """ONNX's operators, or the kernel where no node is known."""
        return labels.operators(self.nodes) or f"({self.template})"

    @property
    def node(self) -> str:
        return labels.nodes(self.nodes) or f"({self.template})"

    @property
    def gflops(self) -> float | None:
        """A multiply-add is two operations, of whichever type."""
        return _rate(2 * self.wholes, self.multiply_adds or None, self.ms)

    @property
    def gigabytes(self) -> float | None:
        """Per second."""
        return _rate(self.wholes, self.bytes, self.ms)

    @property
    def wholes(self) -> float:
        """Whole results that a run computes."""
        return self.times / self.bands


def _rate(factor: float, count: int | None, ms: float) -> float | None:
    return None if count is None or ms <= 0 else factor * count / ms / 1e6


@dataclass(frozen=True, slots=True)
class Profile:
    """Times and counts of the calls of some runs."""

    model: str
    arch: str
    emulated: bool  # whether it was under qemu: then times say nothing
    threads: int
    runs_ms: tuple[float, ...]
    not_counted: str  # why there are no instructions; else ""
    rows: tuple[Row, ...]  # one for each call, in the order of the program
    shapes: Mapping[str, Sequence[int]]  # the inputs' shapes by name
    #: Every execution, with what is known of the calls, in the form of Chrome's tracing.
    trace: Trace

    @property
    def calls_ms(self) -> float:
        """The time of all calls of a run."""
        return sum(row.ms for row in self.rows)

    @property
    def outside_ms(self) -> float:
        """Mean ms of a run outside its calls."""
        return max(0.0, sum(self.runs_ms) / len(self.runs_ms) - self.calls_ms)

    def by(self, grouping: str) -> list[Row]:
        """The rows grouped by one of `GROUPINGS`, slowest first."""
        return sorted(grouped(self.rows, grouping), key=lambda row: (-row.ms, row.call or 0))

    def share(self, row: Row) -> float:
        """Share of a row in the time of all calls."""
        return row.ms / (self.calls_ms or 1.0)


_KEYS: dict[str, Callable[[Row], str]] = {
    "operator": lambda row: row.operators,
    "node": lambda row: row.node,
    "kernel": lambda row: row.template,
}


def grouped(rows: Sequence[Row], grouping: str) -> list[Row]:
    """Sum rows that have a key in common."""
    if grouping == "call":
        return list(rows)
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(_KEYS[grouping](row), []).append(row)
    return [_sum(name, group) for name, group in found.items()]


def _sum(name: str, rows: Sequence[Row]) -> Row:
    def total(numbers: Iterable[float | None]) -> float | None:
        known = [n for n in numbers if n is not None]
        return sum(known) if len(known) == len(rows) else None

    def count(numbers: Iterable[float | None]) -> int | None:
        found = total(numbers)
        return None if found is None else round(found)

    first = rows[0]
    return replace(
        first,
        call=None,
        name=name,
        nodes=tuple(dict.fromkeys(node for row in rows for node in row.nodes)),
        kernel=first.kernel if len({row.kernel for row in rows}) == 1 else "",
        template=first.template if len({row.template for row in rows}) == 1 else "",
        ms=sum(row.ms for row in rows),
        least_ms=sum(row.least_ms for row in rows),
        times=1.0,
        instructions=total(row.instructions for row in rows),
        multiply_adds=count(_times(row.wholes, row.multiply_adds) for row in rows),
        bytes=count(_times(row.wholes, row.bytes) for row in rows),
        calls=len(rows),
        bands=1,
    )


def _times(times: float, number: int | None) -> float | None:
    return None if number is None else times * number


def profile(trace: Trace, package: Package) -> Profile:
    """The profile of a trace; InputError if the trace is of another package."""
    facts = trace["otherData"]
    arch = facts["machine"]
    if arch not in package.archs:
        raise InputError(
            f"the profile is of code for {arch}, and '{package.path}' has only"
            f" {', '.join(package.archs)}; give the package that was run"
        )
    shapes = {name: tuple(dims) for name, dims in facts["inputs"].items()}
    other = InputError(
        f"the profile is not of '{package.path}' as it is now; make it again with its own runner"
    )
    if shapes.keys() != {port.name for port in package.inputs}:
        raise other
    values = serving.dims_of(package.inputs, shapes)
    found = serving.program_for(package.manifest["per_arch"][arch], values)
    if found is None:
        raise other
    if "graph" not in found[1]:
        raise InputError(f"'{package.path}' is of an earlier version; compile the model again")
    graph = found[1]["graph"]
    events = [event for event in trace["traceEvents"] if event.get("cat") == "call"]
    spans = [event for event in trace["traceEvents"] if event.get("cat") == "run"]
    calls = graph["calls"]
    if any(
        event["args"]["call"] >= len(calls)
        or event["args"]["kernel"] != calls[event["args"]["call"]]["kernel"]
        for event in events
    ):
        raise other
    taken: dict[int, list[dict[str, Any]]] = {}
    for event in events:
        taken.setdefault(event["args"]["call"], []).append(event)
    bands = bands_of(found[1], values)
    rows = [
        replace(
            _row(number, calls[number], graph, package, values, taken[number], len(spans)),
            bands=bands.get(number, 1),
        )
        for number in sorted(taken)
    ]
    return Profile(
        model=package.manifest["name"],
        arch=arch,
        emulated=bool(facts.get("emulated", False)),
        threads=facts["threads"],
        runs_ms=tuple(event["dur"] / 1e3 for event in spans),
        not_counted=facts["not_counted"],
        rows=tuple(rows),
        shapes=shapes,
        trace=_explained(trace, package, {row.call: row for row in rows}),
    )


def _row(
    number: int,
    call: Mapping[str, Any],
    graph: Mapping[str, Any],
    package: Package,
    values: Mapping[str, int],
    events: Sequence[Mapping[str, Any]],
    runs: int,
) -> Row:
    by_run: dict[int, float] = {}
    for event in events:
        run = event["args"]["run"]
        by_run[run] = by_run.get(run, 0.0) + event["dur"] / 1e3
    counted = [event["args"].get("instructions") for event in events]
    sizes = [bytes_of(graph["tensors"][t], values) for t in operands(call)]
    known = [size for size in sizes if size is not None]
    return Row(
        call=number,
        name=call["name"],
        nodes=tuple(graph["nodes"][call["nodes"]]),
        kernel=call["kernel"],
        template=package.manifest["kernels"][call["kernel"]]["template"] or "generated",
        ms=sum(by_run.values()) / runs,
        least_ms=min(by_run.values()) if len(by_run) == runs else 0.0,
        times=len(events) / runs,
        instructions=None if None in counted else sum(counted) / runs,
        multiply_adds=labels.size_at(call["multiply_adds"], values),
        bytes=sum(known) if len(known) == len(sizes) else None,
    )


def operands(call: Mapping[str, Any]) -> list[int]:
    """The tensors that a call reads and writes, each once."""
    return list(dict.fromkeys([*call["reads"], *call["writes"]]))


def bands_of(entry: Mapping[str, Any], values: Mapping[str, int]) -> dict[int, int]:
    """Executions of each call that runs in bands, of the manifest's facts of a program."""
    counts = {
        group["first_call"] + k: labels.size_at(count, values)
        for group in entry.get("streamed", ())
        for k, count in enumerate(group["bands"])
    }
    return {number: count for number, count in counts.items() if count is not None}


def bytes_of(tensor: Mapping[str, Any], values: Mapping[str, int]) -> int | None:
    """Bytes of a tensor of the manifest, and of a line buffer those of all rows of the image."""
    found = labels.size_at(tensor["bytes"], values)
    if found is None or "rows" not in tensor:
        return found
    rows, height = (labels.size_at(tensor[key], values) for key in ("rows", "height"))
    return None if not rows or height is None else found // rows * height


def _explained(trace: Trace, package: Package, rows: Mapping[int | None, Row]) -> Trace:
    def event(found: Mapping[str, Any]) -> Mapping[str, Any]:
        if found.get("cat") != "call":
            return found
        row = rows[found["args"]["call"]]
        more = {
            "nodes": labels.nodes(row.nodes),
            "multiply_adds": row.multiply_adds,
            "bytes": row.bytes,
        }
        return {**found, "args": {**found["args"], **more}}

    return {
        **trace,
        "otherData": {**trace["otherData"], "model": package.manifest["name"]},
        "traceEvents": [event(found) for found in trace["traceEvents"]],
    }
