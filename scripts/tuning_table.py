"""Tune each model by arm64 instructions with a small budget, and keep what that gave in a table.

Models are those of the corpus (../shared/models), at the shapes of their first case, and of the
zoo. Each is tuned in a process of its own, which is ended after --limit seconds; all use one file
of records. What was measured stays in --work, so that an interrupted run goes on where it was, and
--write puts the table of all results that are there into docs/tuning.md. The exit status is 1 when
a tuned model takes more instructions than an untuned one.
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
from tvm_megcc.tuning.report import Report  # noqa: E402

PAGE = ROOT / "docs" / "tuning.md"
BEGIN = "<!-- Written by scripts/tuning_table.py: begin -->"
END = "<!-- Written by scripts/tuning_table.py: end -->"
ARCH = "arm64"
#: Larger models of the zoo are tuned for smaller images.
ZOO_SIZE = 96


@dataclass(frozen=True, slots=True)
class Task:
    """A tuned call: its operator, and what its worst, default and best candidate took."""

    op: str
    worst: float
    default: float
    best: float


@dataclass(frozen=True, slots=True)
class Result:
    """What tuning a model gave; `problem` is why it has no figures."""

    model: str
    builds: int = 0
    untuned: float = 0.0
    tuned: float = 0.0
    refused: int = 0
    tasks: tuple[Task, ...] = field(default_factory=tuple)
    problem: str = ""

    @classmethod
    def of_report(cls, model: str, report: Report) -> Result:
        if report.after is None:
            return cls(model, problem=report.stopped)
        tasks = tuple(
            Task(r.task.op, r.costs[r.worst], r.costs[r.default], r.costs[r.best])
            for r in report.rows
        )
        refused = len(report.refused)
        return cls(model, report.builds, report.before, report.after, refused, tasks)

    @classmethod
    def of_json(cls, text: str) -> Result:
        row = json.loads(text)
        return cls(**{**row, "tasks": tuple(Task(**task) for task in row["tasks"])})

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
        sums = [sum(getattr(t, key) for t in r.tasks) for key in ("worst", "default", "best")]
        cells = (r.model, len(r.tasks), r.builds, *(f"{v:,.0f}" for v in (*sums, r.untuned)))
        share = f"{r.tuned / r.untuned:.1%}" if r.untuned else ""
        lines.append(f"| {' | '.join(map(str, cells))} | {r.tuned:,.0f} | {share} |")
    lines += ["", "By operator, over all its different calls, what the default takes:", ""]
    lines += [
        "| operator | calls | the worst candidate's share | the best one's share | the best one's"
        " largest gain |",
        "|---|--:|--:|--:|--:|",
    ]
    for op, tasks in sorted(_by_operator(good).items()):
        worst, default, best = (
            sum(getattr(t, key) for t in tasks) for key in ("worst", "default", "best")
        )
        least = min(t.best / t.default for t in tasks)
        cells = (op, len(tasks), f"{worst / default:.2f}", f"{best / default:.3f}")
        lines.append(f"| {' | '.join(map(str, cells))} | {1 - least:.1%} |")
    without = [f"{r.model} ({r.problem})" for r in results if r.problem]
    if without:
        lines += ["", f"Without figures: {', '.join(without)}."]
    return "\n".join(lines)


def _by_operator(results: Iterable[Result]) -> dict[str, list[Task]]:
    found: dict[str, list[Task]] = {}
    for result in results:
        for task in result.tasks:
            found.setdefault(task.op, []).append(task)
    return found


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
        write(PAGE, table(results))
    return int(any(r.tuned > r.untuned for r in results))


if __name__ == "__main__":
    sys.exit(main())
