"""``tvmc bench``: how long a run takes on this machine, of one package or several side by side."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from tvm_megcc.cli import options
from tvm_megcc.errors import InputError

if TYPE_CHECKING:
    from tvm_megcc.execute import Runnable
    from tvm_megcc.host.arrays import Arrays

HELP = "time packages or libraries"

#: How often packages take turns where nothing is said.
ROUNDS = 5


def arguments(parser: argparse.ArgumentParser) -> None:
    options.add_running(parser, several=True)
    parser.add_argument(
        "--repeat", type=options.count, default=50, metavar="N", help="runs to time (default: 50)"
    )
    parser.add_argument(
        "--warmup",
        type=options.count_or_none,
        default=3,
        metavar="N",
        help="untimed runs before them (default: 3)",
    )
    parser.add_argument(
        "--rounds",
        type=options.count,
        metavar="N",
        help="in how many pieces the runs are done; several packages take turns, so that what else"
        f" the machine does meets all of them (default: 1, of several packages {ROUNDS})",
    )
    parser.add_argument(
        "--cpus",
        metavar="LIST",
        help="run on these CPUs only, as in 0,2-3 (Linux)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with every run's time")


def run(args: argparse.Namespace) -> None:
    from tvm_megcc import execute
    from tvm_megcc.report.times import summary

    options.check_running(args)
    cpus = None if args.cpus is None else read_cpus(args.cpus)
    wanted = args.rounds or (ROUNDS if len(args.package) > 1 else 1)
    rounds = shares(args.repeat, min(wanted, args.repeat))
    with ExitStack() as stack:
        tell = stack.enter_context(options.progress())
        runnables = [
            stack.enter_context(
                execute.opened(path, args.arch, tell, threads=args.threads, cc=args.compiler)
            )
            for path in args.package
        ]
        inputs = [
            options.read_inputs(args, runnable.inputs, runnable.check_shapes)
            for runnable in runnables
        ]
        with pinned(cpus):
            times = measured(runnables, inputs, rounds, args.warmup)
    rows = [
        {
            "package": path,
            "arch": runnable.arch,
            "emulated": runnable.emulated,
            "threads": args.threads,
            "cpus": cpus,
            "warmup": args.warmup,
            "rounds": len(rounds),
            "ms": asdict(summary(found)),
            "runs_ms": found,
        }
        for path, runnable, found in zip(args.package, runnables, times, strict=True)
    ]
    if args.json:
        print(json.dumps({"packages": rows}, indent=1))
    else:
        print_rows(rows)


def measured(
    runnables: Sequence[Runnable], inputs: Sequence[Arrays], rounds: Sequence[int], warmup: int
) -> list[list[float]]:
    """Times in ms by runnable; in each round each runs `rounds[k]` times."""
    times: list[list[float]] = [[] for _ in runnables]
    for repeat in rounds:
        for runnable, given, found in zip(runnables, inputs, times, strict=True):
            found += runnable.run(given, repeat=repeat, warmup=warmup).times_ms
    return times


def shares(runs: int, rounds: int) -> list[int]:
    """Divide runs into rounds of nearly equal size: they differ by 1 at most."""
    return [runs // rounds + (number < runs % rounds) for number in range(rounds)]


def print_rows(rows: Sequence[dict[str, object]]) -> None:
    """Print a row for each package; for several, the ratio of its median to the first one's."""
    numbers = ("min", "median", "mean", "deviation", "p90", "p99")
    head = ["package", "arch", "runs", *(f"{name} ms" for name in numbers)]
    if len(rows) > 1:
        head.append("to the first")
    lines = []
    first = rows[0]["ms"]
    assert isinstance(first, dict)
    for row in rows:
        ms = row["ms"]
        assert isinstance(ms, dict)
        line = [str(row["package"]), str(row["arch"]), str(ms["runs"])]
        line += [f"{ms[name]:.4f}" for name in numbers]
        if len(rows) > 1:
            line.append(f"{ms['median'] / first['median']:.3f}" if first["median"] else "-")
        lines.append(line)
    options.print_table(head, lines)
    if any(row["emulated"] for row in rows):
        print("under qemu a time says nothing about the device")


def read_cpus(text: str) -> list[int]:
    """The numbers in a list such as ``0,2-3``.

    Raises InputError for any other text, and for a CPU on which the process may not run.
    """
    if not hasattr(os, "sched_setaffinity"):
        raise InputError("--cpus: this system does not let a program choose; leave it out")
    found: set[int] = set()
    for word in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", word)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise InputError(f"--cpus: cannot read {text!r}; write numbers and ranges, as 0,2-3")
        found |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    allowed = os.sched_getaffinity(0)
    if not found <= allowed:
        there = ", ".join(map(str, sorted(allowed)))
        first = min(found - allowed)
        raise InputError(f"--cpus: there is no CPU {first} for this process; choose from {there}")
    return sorted(found)


@contextmanager
def pinned(cpus: Sequence[int] | None) -> Iterator[None]:
    """Let this process, and those that it starts, run on these CPUs only."""
    if cpus is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
