"""The command behind `scripts/fuzz`."""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz import findings
from tests.fuzz.building import MODES, Mode
from tests.fuzz.session import Finding, Session
from tvm_megcc.core import file_lock
from tvm_megcc.core.preference import OPTIMIZE
from tvm_megcc.errors import ToolError

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Run seeds; 1 when there is a finding."""
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("--seeds", metavar="A..B", help="the seeds from A to B, both included")
    parser.add_argument("--minutes", type=float, help="fresh seeds for so long")
    parser.add_argument("--arch", default="host,portable,arm64,armv7", help="where to run")
    parser.add_argument("--sanitize", action="store_true", help="under sanitizers, too")
    parser.add_argument("--optimize", choices=OPTIMIZE, default="balanced", help="as of tvmc")
    parser.add_argument(
        "--rotate",
        action="store_true",
        help="ports in the arena, several workers, bounds, listed shapes, buckets: in turn",
    )
    parser.add_argument("--batch", type=int, default=40, help="graphs in a program")
    parser.add_argument("--keep", type=Path, help="write minimised findings to this folder")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "build" / "fuzz", help="programs, objects: of one run"
    )
    parser.add_argument("--threads", type=int, default=2, help="compilers at once")
    options = parser.parse_args(arguments)
    names = options.arch.split(",")
    if unknown := [n for n in names if n not in MODES]:
        parser.error(f"--arch: {unknown[0]} is not known; choose from {', '.join(MODES)}")
    always = tuple(n for n in names if n == "host") or tuple(names[:1])
    others = tuple(n for n in names if n not in always)
    others += (
        ("sanitized",) if options.sanitize or options.arch == parser.get_default("arch") else ()
    )
    for name in (*always, *others):
        _needs_its_tools(parser, MODES[name])
    options.work.mkdir(parents=True, exist_ok=True)
    lock = os.open(options.work, os.O_RDONLY)
    if file_lock.fcntl and not file_lock.hold(lock, wait=False):
        parser.error(f"{options.work} is in use by another run: give this one --work FOLDER")
    first, last = _seeds(options)
    session = Session(
        options.work, always, others, options.threads, options.optimize, options.rotate
    )
    begin = time.monotonic()
    count, seed = 0, first
    try:
        while seed <= last:
            if options.minutes and time.monotonic() - begin > 60 * options.minutes:
                break
            row = range(seed, min(seed + options.batch, last + 1))
            found, failures = _batch(session, row)
            count += failures
            for finding in found:
                count += 1
                print(finding.line, flush=True)
                if options.keep:
                    small = session.smallest(finding)
                    print("    ->", small.line, flush=True)
                    findings.write(small, options.keep)
            seed = row.stop
            spent = time.monotonic() - begin
            print(
                f"{seed - first} seeds, {count} findings, {spent:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    finally:
        session.close()
        os.close(lock)
    _report(session)
    print(
        f"{session.tally.seeds} seeds, {session.tally.answers} answers compared, {count} findings"
    )
    return 1 if count else 0


def _needs_its_tools(parser: argparse.ArgumentParser, mode: Mode) -> None:
    """Ends the command where this machine does not build or run ``mode``."""
    try:
        mode.compiler, mode.launcher  # noqa: B018 - each raises where its tool is missing
    except ToolError as error:
        parser.error(f"--arch {mode.name}: {error}")


def _batch(session: Session, seeds: Sequence[int]) -> tuple[list[Finding], int]:
    """The findings of these seeds, and with how many of them the fuzzer itself fails."""
    try:
        return session.batch(seeds), 0
    except Exception:
        if len(seeds) == 1:
            print(f"fuzzer   seed {seeds[0]}: {traceback.format_exc()}", flush=True)
            return [], 1
    rows = [_batch(session, [seed]) for seed in seeds]
    return [f for found, _ in rows for f in found], sum(n for _, n in rows)


def _seeds(options: argparse.Namespace) -> tuple[int, int]:
    if options.seeds:
        first, _, last = options.seeds.partition("..")
        return int(first), int(last or first)
    start = int(time.time()) * 1000 if options.minutes else 0
    return start, start + (10**9 if options.minutes else 99)


def _report(session: Session) -> None:
    tally = session.tally
    for title, rows in (
        ("refused", tally.refusals),
        ("refused when run", tally.statuses),
        ("answered where ONNX Runtime has no answer", tally.beyond),
    ):
        print(f"{title}: {sum(rows.values())}")
        for text, n in rows.most_common(60):
            print(f"  {n:5} {text}")
    print(f"far from the evaluators' by what right nodes carry on: {tally.carried}")
    print("nodes:", " ".join(f"{op}:{n}" for op, n in sorted(tally.nodes.items())))


if __name__ == "__main__":
    sys.exit(main())
