"""Tune each model by arm64 instructions with a small budget, and keep what that gave in a table.

Models are those of the corpus (../shared/models), at the shapes of their first case, and of the
zoo. Each is tuned in a process of its own, which is ended after --limit seconds; all use one file
of records. What was measured stays in --work, so that an interrupted run goes on where it was.
--write puts it into scripts/tuning_results.jsonl, a line for each model, and the table of all that
is there into docs/measurements/tuning.md. The exit status is 1 when a tuned model takes more
instructions than an untuned one.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import pages
import subjects
from subjects import ROOT, corpus

from tvm_megcc import zoo
from tvm_megcc.core import user_cache
from tvm_megcc.errors import MegccError
from tvm_megcc.tuning import session
from tvm_megcc.tuning.findings import Report

PAGE = ROOT / "docs" / "measurements" / "tuning.md"
KEPT = ROOT / "scripts" / "tuning_results.jsonl"
BEGIN = "<!-- Written by scripts/tuning_table.py: begin -->"
END = "<!-- Written by scripts/tuning_table.py: end -->"
ARCH = "arm64"


@dataclass(frozen=True, slots=True)
class Sums:
    """Calls that were tuned: what their worst, default and best candidates took together.

    `least` is the smallest share of its default that a call's best candidate takes.
    """

    calls: int = 0
    worst: float = 0.0
    default: float = 0.0
    best: float = 0.0
    least: float = 1.0

    def __add__(self, other: Sums) -> Sums:
        sums = (self.worst + other.worst, self.default + other.default, self.best + other.best)
        return Sums(self.calls + other.calls, *sums, min(self.least, other.least))


@dataclass(frozen=True, slots=True)
class Result:
    """Figures of one tuned model; `problem` says why it has none.

    `operators` is empty for models that were tuned before operators were told apart.
    """

    model: str
    builds: int = 0
    untuned: float = 0.0
    tuned: float = 0.0
    refused: int = 0
    all: Sums = field(default_factory=Sums)
    operators: dict[str, Sums] = field(default_factory=dict)
    problem: str = ""

    @classmethod
    def of_report(cls, model: str, report: Report) -> Result:
        if report.after is None:
            return cls(model, problem=report.stopped)
        operators: dict[str, Sums] = {}
        for r in report.rows:
            worst, default, best = (r.costs[k] for k in (r.worst, r.default, r.best))
            one = Sums(1, worst, default, best, best / default)
            operators[r.task.op] = operators.get(r.task.op, Sums()) + one
        total = sum(operators.values(), Sums())
        refused = len(report.refused)
        return cls(model, report.builds, report.before, report.after, refused, total, operators)

    @classmethod
    def of_json(cls, text: str) -> Result:
        row = json.loads(text)
        operators = {op: Sums(**sums) for op, sums in row["operators"].items()}
        return cls(**{**row, "all": Sums(**row["all"]), "operators": operators})

    def to_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Budget:
    """Builds of a model, seconds after which no new one begins, and seconds for all of it."""

    trials: int
    seconds: float
    limit: float


def names(shared: Path) -> list[str]:
    """All models, those of few multiply-adds first; the zoo's are tiny or reduced."""
    models = corpus.load(shared / "models")
    return [*zoo.NAMES, *sorted(models, key=lambda name: (models[name].macs, name))]


def tuned(name: str, shared: Path, records: Path, budget: Budget) -> Result:
    """Tune one model."""
    try:
        with tempfile.TemporaryDirectory(prefix="megcc_tuning_") as folder:
            (model,) = subjects.chosen(shared, Path(folder), [name])
            inputs = None
            if model.case is not None:
                inputs, given = Path(folder, "inputs.npz"), model.case.inputs()
                # The corpus stores some scalars as one element.
                np.savez(inputs, **{n: given[n].reshape(s) for n, s in model.shapes.items()})
            report = session.tune_model(
                str(model.path),
                records=records,
                arch=ARCH,
                measure="instructions",
                trials=budget.trials,
                seconds=budget.seconds,
                input_shapes=model.shapes,
                inputs=inputs,
            )
            return Result.of_report(name, report)
    except MegccError as error:
        return Result(name, problem=" ".join(str(error).split()))


def _work(name: str, shared: Path, records: Path, budget: Budget, to: Path) -> None:
    fresh = to.with_suffix(".part")
    fresh.write_text(tuned(name, shared, records, budget).to_json())
    fresh.replace(to)


def bounded(name: str, shared: Path, work: Path, budget: Budget) -> Result:
    """`tuned` in a process that is ended after the limit, or the result of an earlier run."""
    kept = work / f"{name}.json"
    if not kept.is_file():
        arguments = (name, shared, work / "records.jsonl", budget, kept)
        process = multiprocessing.get_context("spawn").Process(target=_work, args=arguments)
        process.start()
        process.join(budget.limit)
        if process.is_alive():
            process.terminate()
            process.join()
            return Result(name, problem=f"not reached within {budget.limit:.0f} s")
        if process.exitcode:
            return Result(name, problem=f"its process ended with status {process.exitcode}")
    return Result.of_json(kept.read_text())


# ---- the table -----------------------------------------------------------------------------------


MODEL_COLUMNS = (
    "model", "calls", "builds", "all worst", "all default", "all best", "untuned", "tuned", "",
)  # fmt: skip
OPERATOR_COLUMNS = (
    "operator", "calls", "the worst candidate's share", "the best one's share",
    "the best one's largest gain",
)  # fmt: skip


def table(results: Sequence[Result]) -> str:
    """The summary and tables for the page."""
    good = [r for r in results if not r.problem]
    fewer = sum(r.tuned < r.untuned for r in good)
    more = [r.model for r in good if r.tuned > r.untuned]
    lines = [
        f"{len(good)} models: {fewer} take fewer instructions tuned than untuned,"
        f" {len(good) - fewer - len(more)} as many, {', '.join(more) or 'none'} more.",
        "",
        pages.table(MODEL_COLUMNS, map(_cells, good)),
    ]
    told = [r for r in good if r.operators]
    lines += ["", f"By operator, over all different calls of {len(told)} of the models, what the"
              " default takes:", ""]  # fmt: skip
    rows = [
        (op, s.calls, f"{s.worst / s.default:.2f}", f"{s.best / s.default:.3f}",
         f"{1 - s.least:.1%}")
        for op, s in sorted(_by_operator(told).items())
    ]  # fmt: skip
    lines.append(pages.table(OPERATOR_COLUMNS, rows, words=("operator",)))
    without = [f"{r.model} ({r.problem})" for r in results if r.problem]
    if without:
        lines += ["", f"Without figures: {', '.join(without)}."]
    return "\n".join(lines)


def _cells(r: Result) -> list[object]:
    figures = (r.all.worst, r.all.default, r.all.best, r.untuned, r.tuned)
    share = f"{r.tuned / r.untuned:.1%}" if r.untuned else ""
    return [r.model, r.all.calls, r.builds, *(f"{v:,.0f}" for v in figures), share]


def _by_operator(results: Iterable[Result]) -> dict[str, Sums]:
    found: dict[str, Sums] = {}
    for result in results:
        for op, sums in result.operators.items():
            found[op] = found.get(op, Sums()) + sums
    return found


def merged(kept: Path, fresh: Iterable[Result], order: Sequence[str]) -> list[Result]:
    """Results by model, fresh ones before kept ones; the kept file is rewritten with them."""
    lines = kept.read_text().splitlines() if kept.is_file() else []
    tried = {result.model: result for result in fresh}
    found = {result.model: result for result in map(Result.of_json, lines)}
    found |= {name: result for name, result in tried.items() if not result.problem}
    kept.write_text("".join(f"{found[name].to_json()}\n" for name in order if name in found))
    all_results = {name: Result(name, problem="not tried yet") for name in order} | tried | found
    return [all_results[name] for name in order]


def main(argv: Sequence[str] | None = None) -> int:
    parser = subjects.parser("scripts/tuning_table.py", __doc__)
    parser.add_argument("--work", type=Path, help="default: the user's cache")
    parser.add_argument("--trials", type=int, default=4, help="builds of a model, at most")
    parser.add_argument("--time", type=float, default=120, help="then no new build begins")
    parser.add_argument("--limit", type=float, default=600, help="seconds for a model")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    args = parser.parse_args(argv)
    known = subjects.known(parser, args, names)
    work = args.work or user_cache.folder("tuning")
    if work is None:
        parser.error("the user's cache cannot be written; name a folder with --work")
    work.mkdir(parents=True, exist_ok=True)
    budget = Budget(args.trials, args.time, args.limit)
    results = []
    for name in args.names or known:
        result = bounded(name, args.shared, work, budget)
        results.append(result)
        said = result.problem or f"{result.untuned:>14,.0f}{result.tuned:>14,.0f}"
        print(f"{name:26}{said}", flush=True)
    if args.write:
        pages.write(PAGE, table(merged(KEPT, results, known)), BEGIN, END)
    return int(any(r.tuned > r.untuned for r in results))


if __name__ == "__main__":
    sys.exit(main())
