#!/usr/bin/env python3
"""Write the table of threads in docs/performance.md: runs on 1 and 2 threads beside ONNX Runtime.

Usage: ``scripts/bench_threads.py [MODEL ...]`` prints a row for each model of the zoo (default: the
four large ones) or ONNX file; ``--write`` puts the table in the page. Ours and ONNX Runtime, one
and several threads, take turns, so that what else the machine does meets all of them; a figure is
the least time of all rounds. Before anything is timed, the outputs on several threads are compared
with those on one, bit for bit.

A busy machine slows several threads more than one: `spread`, the median over the least time, says
how quiet it was. Below 1.1 the figures mean something.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pages
import subjects
import timing

from tvm_megcc.errors import MegccError, ToolError
from tvm_megcc.host import arrays
from tvm_megcc.memory_options import MemoryOptions

PAGE = subjects.ROOT / "docs" / "performance.md"
BEGIN = "<!-- Written by scripts/bench_threads.py: begin -->"
END = "<!-- end -->"
MODELS = ("mobilenet_v1", "mobilenet_v2", "resnet18", "resnet50")


@dataclass(slots=True)
class Row:
    """Times in ms of every run, by number of threads, and the arenas."""

    model: str
    ours: dict[int, list[float]] = field(default_factory=dict)
    theirs: dict[int, list[float]] = field(default_factory=dict)
    arena: dict[int, int] = field(default_factory=dict)


def measure(name: str, threads: int, rounds: int, repeat: int, folder: Path) -> Row:
    """Times of one model on 1 and on several threads, ours and ONNX Runtime's."""
    model = subjects.file_of(name, folder)
    counts = (1, threads)
    ours = {
        n: timing.Ours(model, folder / f"{model.stem}_{n}", n, memory=MemoryOptions(threads=n))
        for n in counts
    }
    theirs = {n: timing.OnnxRuntime(model, n) for n in counts}
    row = Row(model.stem, arena={n: one.arena_bytes for n, one in ours.items()})
    inputs = arrays.fill(arrays.sized(ours[1].inputs, None), "random")
    serial, _ = ours[1].run(inputs, 1)
    split, _ = ours[threads].run(inputs, 1)
    for output, value in serial.items():
        if value.tobytes() != split[output].tobytes():
            raise ToolError(f"{name}: output {output!r} is another one on {threads} threads")
    for _ in range(rounds):
        for n in counts:
            row.ours.setdefault(n, []).extend(ours[n].run(inputs, repeat)[1])
            row.theirs.setdefault(n, []).extend(theirs[n].run(inputs, repeat)[1])
    return row


def table(rows: list[Row], threads: int) -> str:
    """The rows as Markdown."""
    head = ["model", "1 thread", f"{threads} threads", "times", "ONNX Runtime, 1", str(threads)]
    lines = []
    for row in rows:
        cells = [row.model]
        for times in (row.ours, row.theirs):
            one, several = min(times[1]), min(times[threads])
            cells += [f"{one:.2f} ms", f"{several:.2f} ms", f"{one / several:.2f}"]
        cells += [f"{row.arena[n]:,}" for n in (1, threads)]
        cells.append(f"{statistics.median(row.ours[threads]) / min(row.ours[threads]):.2f}")
        lines.append(cells)
    return pages.table([*head, "times", "arena, 1", str(threads), "spread"], lines)


def write(page: Path, text: str, begin: str = BEGIN, end: str = END) -> None:
    """Put `text`, with blank lines around it, between two marks of the page."""
    pages.write(page, f"\n{text}\n", begin, end)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", default=MODELS)
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="default: 2")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="default: 5")
    parser.add_argument("--repeat", type=int, default=20, metavar="N", help="in a round; 20")
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    args = parser.parse_args(argv)
    if args.write and args.models != MODELS:
        parser.error("--write is for the table of all models; leave the names out")
    rows = []
    for name in args.models:
        with tempfile.TemporaryDirectory(prefix="megcc-threads-") as folder:
            try:
                rows.append(measure(name, args.threads, args.rounds, args.repeat, Path(folder)))
            except MegccError as error:
                print(f"bench_threads: {error}", file=sys.stderr)
                return 1
        print(table(rows[-1:], args.threads), flush=True)
    if args.write:
        write(PAGE, table(rows, args.threads))
    return 0


if __name__ == "__main__":
    sys.exit(main())
