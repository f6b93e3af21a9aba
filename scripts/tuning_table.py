"""Tune each model by arm64 instructions with a small budget, and keep what that gave in a table.

Models are those of the corpus (../shared/models), at the shapes of their first case, and of the
zoo. Each is tuned in a process of its own, which is ended after --limit seconds; all use one file
of records. What was measured stays in --work, so that an interrupted run goes on where it was.
--write puts it into scripts/tuning_results.jsonl, a line for each model, and the table of all that
is there into docs/measurements/tuning.md. The exit status is 1 when a tuned model takes more
instructions than an untuned one.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "models")]

import corpus  # noqa: E402
import pages  # noqa: E402

from tvm_megcc import zoo  # noqa: E402
from tvm_megcc.core import user_cache  # noqa: E402
from tvm_megcc.errors import MegccError  # noqa: E402
from tvm_megcc.tuning import session  # noqa: E402
from tvm_megcc.tuning.findings import Report  # noqa: E402

PAGE = ROOT / "docs" / "measurements" / "tuning.md"
KEPT = ROOT / "scripts" / "tuning_results.jsonl"
BEGIN = "<!-- Written by scripts/tuning_table.py: begin -->"
END = "<!-- Written by scripts/tuning_table.py: end -->"
ARCH = "arm64"
#: Larger models of the zoo are tuned for smaller images.
ZOO_SIZE = 96


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
    """What tuning a model gave; `problem` is why it has no figures.

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
    run = partial(
        session.tune_model,
        records=records,
        arch=ARCH,
        measure="instructions",
        trials=budget.trials,
        seconds=budget.seconds,
    )
    try:
        with tempfile.TemporaryDirectory(prefix="megcc_tuning_") as folder:
            if name in zoo.NAMES:
                built = zoo.build(name) if "tiny" in name else zoo.build(name, size=ZOO_SIZE)
                return Result.of_report(name, run(built))
            model = corpus.load(shared / "models")[name]
            shapes, (case, *_) = model.shape_sets()[0]
            # The corpus stores some scalars as one element.
            given = {n: case.inputs()[n].reshape(shape) for n, shape in shapes.items()}
            inputs = Path(folder, "inputs.npz")
            np.savez(inputs, **given)
            return Result.of_report(name, run(str(model.path), input_shapes=shapes, inputs=inputs))
    except MegccError as error:
        return Result(name, problem=" ".join(str(error).split()))


def _work(name: str, shared: Path, records: Path, budget: Budget, to: Path) -> None:
    fresh = to.with_suffix(".part")
    fresh.write_text(tuned(name, shared, records, budget).to_json())
    fresh.replace(to)


def bounded(name: str, shared: Path, work: Path, budget: Budget) -> Result:
    """`tuned` in a process that is ended after the limit, or what an earlier run found."""
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


def table(results: Sequence[Result]) -> str:
    """What stands between the marks of the page."""
    good = [r for r in results if not r.problem]
    fewer = sum(r.tuned < r.untuned for r in good)
    more = [r.model for r in good if r.tuned > r.untuned]
    lines = [
        f"{len(good)} models: {fewer} take fewer instructions tuned than untuned,"
        f" {len(good) - fewer - len(more)} as many, {', '.join(more) or 'none'} more.",
        "",
        "| model | calls | builds | all worst | all default | all best | untuned | tuned | |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for r in good:
        figures = (r.all.worst, r.all.default, r.all.best, r.untuned)
        cells = (r.model, r.all.calls, r.builds, *(f"{v:,.0f}" for v in figures))
        share = f"{r.tuned / r.untuned:.1%}" if r.untuned else ""
        lines.append(f"| {' | '.join(map(str, cells))} | {r.tuned:,.0f} | {share} |")
    told = [r for r in good if r.operators]
    lines += ["", f"By operator, over all different calls of {len(told)} of the models, what the"
              " default takes:", ""]  # fmt: skip
    lines += [
        "| operator | calls | the worst candidate's share | the best one's share | the best one's"
        " largest gain |",
        "|---|--:|--:|--:|--:|",
    ]
    for op, sums in sorted(_by_operator(told).items()):
        shares = (f"{sums.worst / sums.default:.2f}", f"{sums.best / sums.default:.3f}")
        lines.append(f"| {op} | {sums.calls} | {' | '.join(shares)} | {1 - sums.least:.1%} |")
    without = [f"{r.model} ({r.problem})" for r in results if r.problem]
    if without:
        lines += ["", f"Without figures: {', '.join(without)}."]
    return "\n".join(lines)


def _by_operator(results: Iterable[Result]) -> dict[str, Sums]:
    found: dict[str, Sums] = {}
    for result in results:
        for op, sums in result.operators.items():
            found[op] = found.get(op, Sums()) + sums
    return found


def merged(kept: Path, fresh: Iterable[Result], order: Sequence[str]) -> list[Result]:
    """What is kept of each model, with what is new in its place, which is kept from now on."""
    lines = kept.read_text().splitlines() if kept.is_file() else []
    tried = {result.model: result for result in fresh}
    found = {result.model: result for result in map(Result.of_json, lines)}
    found |= {name: result for name, result in tried.items() if not result.problem}
    kept.write_text("".join(f"{found[name].to_json()}\n" for name in order if name in found))
    all_results = {name: Result(name, problem="not tried yet") for name in order} | tried | found
    return [all_results[name] for name in order]


def write(page: Path, text: str) -> None:
    """Put the text between the page's marks."""
    pages.write(page, text, BEGIN, END)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/tuning_table.py", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MODEL", help="default: all")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--work", type=Path, help="default: the user's cache")
    parser.add_argument("--trials", type=int, default=4, help="builds of a model, at most")
    parser.add_argument("--time", type=float, default=120, help="then no new build begins")
    parser.add_argument("--limit", type=float, default=600, help="seconds for a model")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    args = parser.parse_args(argv)
    if not (args.shared / "models").is_dir():
        parser.error(f"there is no corpus at {args.shared / 'models'}; name it with --shared DIR")
    known = names(args.shared)
    if unknown := sorted(set(args.names) - set(known)):
        parser.error(f"not in the corpus or the zoo: {', '.join(unknown)}")
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
        write(PAGE, table(merged(KEPT, results, known)))
    return int(any(r.tuned > r.untuned for r in results))


if __name__ == "__main__":
    sys.exit(main())
