"""Run ONNX's own test cases through tvm_megcc.backend and count what becomes of them.

Every input is given when the compiled package runs; none is known when it is compiled, unless
--initialisers says so.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.onnx_suite import outcomes  # noqa: E402
from tests.onnx_suite.cases import all_cases, with_initialisers  # noqa: E402
from tests.onnx_suite.outcomes import STATUSES, Outcome  # noqa: E402


def run(names: Sequence[str], initialisers: bool) -> list[Outcome]:
    cases = [all_cases()[name] for name in names]
    return list(outcomes.outcomes([with_initialisers(c) for c in cases] if initialisers else cases))


def run_all(names: Sequence[str], jobs: int, initialisers: bool) -> Iterable[Outcome]:
    """The outcomes, as they come."""
    # Neighbours are of one operator and share kernels.
    shares = [names[k : k + outcomes.BATCH] for k in range(0, len(names), outcomes.BATCH)]
    done = 0
    with ProcessPoolExecutor(jobs) as pool:
        for task in as_completed([pool.submit(run, share, initialisers) for share in shares]):
            yield from task.result()
            done += len(task.result())
            print(f"{done} of {len(names)}", file=sys.stderr, flush=True)


def table(found: Sequence[Outcome]) -> str:
    """Counts by operator, one line each."""
    lines = [f"{'operator':32}" + "".join(f"{s:>10}" for s in STATUSES)]
    for operator, row in outcomes.by_operator(found).items():
        lines.append(f"{operator:32}" + "".join(f"{row[s] or '.':>10}" for s in STATUSES))
    return "\n".join(lines)


def failures(found: Sequence[Outcome]) -> str:
    """Cases that do not pass, by operator."""
    rows = [o for o in found if o.status not in ("pass", "left out")]
    rows.sort(key=lambda o: (o.operator, o.name))
    return "\n".join(f"{o.operator:24} {o.status:9} {o.name}: {o.said[:300]}" for o in rows)


def refused_text(found: Sequence[Outcome]) -> str:
    """The text of tests/onnx_suite/refused.txt: the names of what is refused, by reason."""
    names: dict[str, list[str]] = {}
    for outcome in found:
        if outcome.status == "refused":
            names.setdefault(outcomes.reason(outcome), []).append(outcome.name)
    return "\n".join(
        f"# {why}\n" + "".join(f"{n}\n" for n in sorted(names[why])) for why in sorted(names)
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/onnx_suite", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="regular expressions of names; default: all cases"
    )
    parser.add_argument("--operator", metavar="REGEX", help="cases of these operators only")
    parser.add_argument(
        "--initialisers",
        action="store_true",
        help="all operands but the first are initialisers, as exported models have them",
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every outcome there")
    parser.add_argument("--quiet", action="store_true", help="do not print what fails")
    parser.add_argument(
        "--write",
        action="store_true",
        help="write tests/onnx_suite/refused.txt and docs/onnx-operators.md (of all cases only)",
    )
    args = parser.parse_args(argv)
    if args.write and (args.names or args.operator or args.initialisers):
        parser.error("--write takes no choice of cases: what it writes speaks of all of them")
    chosen = [
        name
        for name, case in all_cases().items()
        if (not args.names or any(re.fullmatch(pattern, name) for pattern in args.names))
        and (not args.operator or re.fullmatch(args.operator, case.operator))
    ]
    if not chosen:
        parser.error("no case has such a name or operator")
    found = sorted(run_all(chosen, args.jobs, args.initialisers), key=lambda o: o.name)
    if args.json:
        args.json.write_text(json.dumps([asdict(o) for o in found], indent=1) + "\n")
    if args.write:
        outcomes.REFUSED.write_text(refused_text(found))
        subprocess.run([sys.executable, ROOT / "scripts" / "gen_operator_docs.py"], check=True)
    if not args.quiet:
        print(failures(found))
    print(table(found))
    counts = Counter(o.status for o in found)
    print(", ".join(f"{counts[s]} {s}" for s in STATUSES), f"of {len(found)} cases")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
