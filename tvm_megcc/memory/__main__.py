"""``python -m tvm_megcc.memory problem.csv -o solution.csv --planner exact --time 60``.

Reads a problem in the MiniMalloc CSV form, prints arena, lower bound and their ratio, and writes
the problem with a column of offsets. Errors are one sentence on stderr and exit status 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tvm_megcc.errors import InputError, MegccError
from tvm_megcc.memory import PLANNERS, Problem, Solution, plan, plot


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    args = _parser().parse_args(argv)
    try:
        problem = Problem.from_csv(args.problem)
        limit = None if args.limit is None else byte_count(args.limit)
        solution = plan(problem, args.planner, args.time, limit)
        if args.output is not None:
            _write(Path(args.output), solution.to_csv(problem))
        if args.plot is not None:
            _write(Path(args.plot), plot.svg(problem, solution))
    except MegccError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(_summary(problem, solution))
    return 0


def byte_count(text: str) -> int:
    """``"256K"`` -> 262144; K, M and G are powers of 1024."""
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper(), 1)
    digits = text[:-1] if factor > 1 else text
    if not digits.isascii() or not digits.isdigit():
        raise InputError(f"'{text}' is not a number of bytes; write it like 262144 or 256K")
    return int(digits) * factor


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tvm_megcc.memory", description="Plan the blocks of a CSV file in one arena."
    )
    parser.add_argument(
        "problem", metavar="PROBLEM.csv", help="columns id, lower, upper, size, ..."
    )
    parser.add_argument("-o", "--output", metavar="SOLUTION.csv", help="the same with offsets")
    parser.add_argument("--planner", choices=PLANNERS, default="auto", metavar="NAME",
                        help=f"one of {', '.join(PLANNERS)} (default: auto)")  # fmt: skip
    parser.add_argument("--time", type=float, default=5.0, metavar="SECONDS",
                        help="limit of the searches (default: 5)")  # fmt: skip
    parser.add_argument("--limit", metavar="BYTES", help="what the arena may take, e.g. 256K")
    parser.add_argument("--plot", metavar="PLAN.svg", help="address over time, as a picture")
    return parser


def _summary(problem: Problem, solution: Solution) -> str:
    state = "optimal" if solution.optimal else f"ratio {solution.ratio:.4f}"
    return (
        f"{len(problem.intervals)} blocks, arena {solution.arena_bytes} bytes,"
        f" lower bound {solution.lower_bound} bytes, {state} ({solution.planner})"
    )


def _write(path: Path, text: str) -> None:
    """`path` has all of `text` or is as it was."""
    path = Path(os.path.realpath(path))
    try:
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            fresh = Path(folder) / path.name
            fresh.write_text(text, encoding="utf-8")
            os.replace(fresh, path)
    except OSError as error:
        raise InputError(f"'{path}' cannot be written: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(main())
