"""Executed instructions of an Arm program under qemu, by class and by function.

    scripts/count_instructions ./run --repeat 1
    scripts/count_instructions --marked ./run --repeat 1     between the marks of marks.h

Counts are exact and repeatable for a program of one thread. A multiply-add of a vector counts once
per lane. `tvmc run`'s packages have their timed runs marked when they are compiled with
`-include tvm_megcc/host/counter/marks.h`. `tvm_megcc.host.instruction_counts` does the work.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tvm_megcc.errors import MegccError
from tvm_megcc.host.instruction_counts import Counts, count


def show(counts: Counts, top: int) -> None:
    total = counts.totals["instructions"] or 1
    print(f"{'instructions':16}{total:>16,}   in {counts.totals['regions']} region(s)")
    for name, (value, text) in counts.classes.items():
        if value:
            print(f"  {name:14}{value:>16,} {100 * value / total:6.2f} %  {text}")
    for name, value in counts.totals.items():
        if value and name not in ("instructions", "regions"):
            print(f"{name:16}{value:>16,} {value / total:8.3f} per instruction")
    for name, value in list(counts.functions.items())[:top]:
        print(f"  {value:>16,} {100 * value / total:6.2f} %  {name}")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/count_instructions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--marked", action="store_true", help="only between the marks")
    parser.add_argument("--cpu", help="as in qemu's -cpu, for example cortex-a53")
    parser.add_argument("--top", type=int, default=10, help="functions to list (default: 10)")
    parser.add_argument("--timeout", type=float, help="seconds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there, too")
    parser.add_argument("program", metavar="PROGRAM", help="for Arm 64 or Armv7")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its own")
    args = parser.parse_args(argv)
    command = [args.program, *args.arguments]
    try:
        counts = count(command, marked=args.marked, cpu=args.cpu, timeout=args.timeout)
    except MegccError as error:
        print(f"scripts/count_instructions: {error}", file=sys.stderr)
        return 1
    show(counts, args.top)
    if args.json:
        classes = {name: value for name, (value, _) in counts.classes.items()}
        facts = {"totals": counts.totals, "classes": classes, "functions": counts.functions}
        args.json.write_text(json.dumps(facts, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
