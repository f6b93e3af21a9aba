"""A profile as a table, JSON, CSV or Chrome's trace.

Enters: a `Profile`. Leaves: text; `text_for` chooses the form by the end of a file's name.

Example
-------
>>> sorted(FORMS)
['.csv', '.json', '.trace.json', '.txt']
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median

from tvm_megcc.errors import InputError
from tvm_megcc.report.profile import GROUPINGS, Profile, Row

#: The columns of CSV and the keys of JSON's rows.
COLUMNS = (
    "call", "name", "operators", "nodes", "kernel", "template", "calls", "ms", "least_ms", "share",
    "times", "bands", "instructions", "multiply_adds", "gflops", "bytes", "gigabytes_per_second",
)  # fmt: skip


def table(profile: Profile, grouping: str = "call") -> str:
    """For people: slowest first."""
    rows = profile.by(grouping)
    runs = profile.runs_ms
    counted = not profile.not_counted
    head = ["ms", "%", *(["instructions"] if counted else []), "GFLOP/s", "GB/s", "calls", grouping]
    repeats = grouping == "call" and any(row.times != 1 for row in rows)
    if grouping == "call":
        head[-2:] = [*(["times"] if repeats else []), "call", "kernel", "name"]
    lines = [head, *(_cells(profile, row, grouping, repeats) for row in rows)]
    numbers = len(head) - (2 if grouping == "call" else 1)
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    text = [
        f"profile: {_counted(len(profile.rows), 'call')}, mean of {_counted(len(runs), 'run')} on"
        f" {profile.arch},"
        f" {_counted(profile.threads, 'thread')}"
    ]
    for line in lines:
        cells = [
            cell.rjust(width) if k < numbers else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  ".join(cells).rstrip())
    text.append(
        f"a run: least {min(runs):.4f} ms, mean {fmean(runs):.4f} ms, of which"
        f" {profile.outside_ms:.4f} ms outside of the calls"
    )
    if profile.emulated:
        text.append("times are those of qemu: they say nothing about the device")
    if profile.not_counted:
        text.append(f"instructions are not counted: {profile.not_counted}")
    return "\n".join(text)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _cells(profile: Profile, row: Row, grouping: str, repeats: bool) -> list[str]:
    cells = [f"{row.ms:.4f}", f"{100 * profile.share(row):.1f}"]
    if not profile.not_counted:
        cells.append("-" if row.instructions is None else f"{row.instructions:.0f}")
    cells += [_rate(row.gflops), _rate(row.gigabytes)]
    if grouping == "call":
        times = [f"{row.times:g}"] if repeats else []
        return [*cells, *times, str(row.call), row.template, row.name]
    return [*cells, str(row.calls), row.name]


def _rate(number: float | None) -> str:
    return "-" if number is None else f"{number:.2f}"


def record(profile: Profile, row: Row) -> dict[str, object]:
    """A row by `COLUMNS`."""
    values = (
        row.call, row.name, row.operators, list(row.nodes), row.kernel, row.template, row.calls,
        row.ms, row.least_ms, profile.share(row), row.times, row.bands, row.instructions,
        row.multiply_adds, row.gflops, row.bytes, row.gigabytes,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def facts(profile: Profile) -> dict[str, object]:
    """Everything but the trace, for JSON: calls in the program's order, groups slowest first."""
    runs = profile.runs_ms
    return {
        "model": profile.model,
        "arch": profile.arch,
        "emulated": profile.emulated,
        "threads": profile.threads,
        "inputs": {name: list(dims) for name, dims in profile.shapes.items()},
        "runs": {
            "count": len(runs),
            "min_ms": min(runs),
            "median_ms": median(runs),
            "mean_ms": fmean(runs),
        },
        "outside_ms": profile.outside_ms,
        "instructions_not_counted": profile.not_counted or None,
        "calls": [record(profile, row) for row in profile.rows],
        **{
            f"by_{grouping}": [record(profile, row) for row in profile.by(grouping)]
            for grouping in GROUPINGS[1:]
        },
    }


def as_json(profile: Profile, grouping: str) -> str:
    return json.dumps(facts(profile), indent=1) + "\n"


def as_csv(profile: Profile, grouping: str) -> str:
    """A row for each call, or group, slowest first; what is not known is empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in profile.by(grouping):
        writer.writerow({**record(profile, row), "nodes": " + ".join(row.nodes)})
    return out.getvalue()


def as_trace(profile: Profile, grouping: str) -> str:
    """For chrome://tracing and Perfetto, one event per line; a row for each thread."""
    head = {key: value for key, value in profile.trace.items() if key != "traceEvents"}
    events = ",\n".join(json.dumps(event) for event in profile.trace["traceEvents"])
    return f'{json.dumps(head)[:-1]}, "traceEvents": [\n{events}\n]}}\n'


#: The end of a file's name -> what is written to it.
FORMS: dict[str, Callable[[Profile, str], str]] = {
    ".trace.json": as_trace,
    ".json": as_json,
    ".csv": as_csv,
    ".txt": lambda profile, grouping: table(profile, grouping) + "\n",
}


def form_of(file: str) -> Callable[[Profile, str], str]:
    """The form of a file by the end of its name; InputError if it is none of `FORMS`."""
    for end, form in FORMS.items():
        if file.endswith(end):
            return form
    known = ", ".join(sorted(FORMS))
    raise InputError(f"--profile-output: '{file}' must end in one of {known}; rename it")


def write(profile: Profile, files_: Sequence[str], grouping: str) -> None:
    """Write each file, whole or not at all."""
    from tvm_megcc.host import files

    for file in files_:
        files.write_file(form_of(file)(profile, grouping).encode(), Path(file))
