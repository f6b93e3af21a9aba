#!/usr/bin/env python3
"""The planner on hard problems: bytes, bound, seconds; and on a large one.

Usage: ``scripts/bench_planner.py PROBLEM.csv ...`` (the MiniMalloc CSV form); without files only
the large problem, 20,000 blocks made by a seeded generator, is planned.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from tvm_megcc.memory import Interval, Problem, Solution, plan, validate

LARGE = 20_000


def large(count: int = LARGE, seed: int = 1) -> Problem:
    """Many short-lived blocks, as a long program has them."""
    rng = random.Random(seed)
    blocks = []
    for k in range(count):
        first = rng.randrange(count)
        last = first + rng.randrange(1, 60)
        blocks.append(Interval(f"b{k}", first, last, 64 * rng.randrange(1, 4096)))
    return Problem(tuple(blocks))


def timed(problem: Problem, planner: str, limit: float) -> tuple[Solution, float]:
    begin = time.perf_counter()
    solution = plan(problem, planner, limit)
    seconds = time.perf_counter() - begin
    validate(problem, solution)
    return solution, seconds


def line(name: str, planner: str, found: Solution, seconds: float) -> str:
    verdict = (
        "optimal" if found.optimal else f"{found.arena_bytes / found.lower_bound:.3f} of bound"
    )
    return f"{name:<24} {planner:<6} {found.arena_bytes:>12,} {verdict:<16} {seconds:6.1f} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("problems", nargs="*", type=Path, metavar="PROBLEM.csv")
    parser.add_argument("--time", type=float, default=60.0, help="seconds for exact (60)")
    args = parser.parse_args()
    for path in args.problems:
        problem = Problem.from_csv(path)
        for planner, limit in (("exact", args.time), ("auto", 2.0)):
            print(line(path.name, planner, *timed(problem, planner, limit)), flush=True)
    print(line(f"{LARGE:,} blocks", "auto", *timed(large(), "auto", 5.0)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
