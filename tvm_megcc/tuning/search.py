"""Tuning a model: rounds of builds in which each call takes one candidate after another.

Enters: how the model is compiled, what measures it, a file of records. Leaves: records appended to
the file after every round, and a `Report`. A round is one build in which every call of the model
has another candidate, so that there are as many builds as the call of most candidates has, not as
many as there are candidates.

A build that fails, takes too long or computes something else is halved until the candidates that
are to blame are alone: they are refused, and the others measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tvm_megcc.codegen_c.emit.compiled import Compiled
from tvm_megcc.compare import Tolerance, difference
from tvm_megcc.core.preference import Preference
from tvm_megcc.core.program import Bundle, Program, bundle_of
from tvm_megcc.core.program import Call as Step
from tvm_megcc.errors import MegccError, ToolError
from tvm_megcc.kernels.registry import KernelFile
from tvm_megcc.kernels.tuned import Knowledge, Task, applied
from tvm_megcc.memory.variants import sizes_of, variant_for
from tvm_megcc.tuning.measuring import (
    Arrays,
    Measurer,
    NoBoardError,
    Run,
    middle,
    workshop,
)
from tvm_megcc.tuning.records import Known, Record, append, digest, read
from tvm_megcc.tuning.report import Report, Row
from tvm_megcc.tuning.trials import Call, Signature, Survey, Trial

#: How far outputs may be from those of the usual kernels: forms of sums that are equal but for
#: rounding, through a whole model.
TOLERANCE = Tolerance(1e-3, 1e-6)
#: A build may take so many times what the usual kernels take, and so many seconds more.
PATIENCE, GRACE_S = 30, 20


@dataclass(frozen=True, slots=True)
class Job:
    """What is tuned, and how.

    Attributes
    ----------
    compile : callable
        Compiles the model for the machine, with the knowledge that is applied then.
    cases : tuple of arrays
        Inputs; several where sizes are open, for each bucket its own.
    preference : Preference
        What the model is compiled with.
    measurer : Measurer
    records : path
        Where records go; those that are there already are not measured again.
    earlier : tuple of path
        Further files whose records are used.
    trials : int or None
        Builds at most.
    seconds : float or None
        After so many no new build begins.
    version : str
        Of the package.
    tell : callable
        Called with a line about how far it is.
    """

    compile: Callable[[], Program | Bundle]
    cases: Sequence[Arrays]
    preference: Preference
    measurer: Measurer
    records: Path
    earlier: Sequence[Path] = ()
    trials: int | None = None
    seconds: float | None = None
    version: str = ""
    tell: Callable[[str], None] = lambda line: None


def tune(job: Job) -> Report:
    """Measure what there is to choose, and say what it gained.

    Raises
    ------
    tvm_megcc.errors.MegccError
        When the model cannot be compiled, or what it is without tuning cannot be measured.
    """
    with workshop() as folder:
        return _Search(job, folder).run()


@dataclass(slots=True)
class _Search:
    job: Job
    folder: Path
    calls: dict[Task, Call] = field(default_factory=dict)
    known: Known = field(default_factory=lambda: Known([]))
    base: list[Run] = field(default_factory=list)
    default: dict[Task, KernelFile] = field(default_factory=dict)
    report: Report = field(default_factory=Report)
    begin: float = field(default_factory=time.monotonic)
    limit: float | None = None

    def run(self) -> Report:
        job, report = self.job, self.report
        report.unit = job.measurer.unit
        survey = Survey(job.preference)
        job.tell("compiling")
        untuned = self._compiled(survey)
        self.calls = survey.calls
        self._learn()
        started = time.monotonic()
        job.tell("measuring the model as it is")
        self.base = self._measured(untuned, self.folder / "0")
        self.limit = GRACE_S + PATIENCE * (time.monotonic() - started)
        self._keep(untuned, self.base, dict.fromkeys(self.calls))
        self.default = {t: k for t, c in self.calls.items() if (k := self._present(untuned, c))}
        report.before = sum(run.whole for run in self.base)
        try:
            self._rounds()
            report.after = self._settled(report.before)
        except KeyboardInterrupt:
            report.stopped = "interrupted"
        except NoBoardError as error:
            report.stopped = str(error)
        report.seconds = time.monotonic() - self.begin
        report.rows = [row for call in self.calls.values() if (row := self._row(call))]
        return report

    # ---- rounds ------------------------------------------------------------------------------

    def _rounds(self) -> None:
        """As many rounds at once as there are places to measure them."""
        while todo := self._todo():
            slots = self.job.measurer.slots
            if self.job.trials is not None:
                slots = min(slots, self.job.trials - self.report.builds)
            if slots < 1:
                return
            if self.job.seconds is not None and self._elapsed() > self.job.seconds:
                return
            self.job.tell(self._progress(todo))
            wanted = [
                {t: rows[k] for t, rows in todo.items() if k < len(rows)} for k in range(slots)
            ]
            self._together([row for row in wanted if row])

    def _together(self, wanted: Sequence[Mapping[Task, KernelFile]]) -> None:
        """Measure rounds side by side; those that fail are then halved, one after the other."""
        built = [self._trial(row) for row in wanted]
        with ThreadPoolExecutor(len(wanted)) as pool:
            runs = [
                pool.submit(self._measured, program, self.folder / str(slot))
                for slot, program in enumerate(built)
            ]
            failed, gone = [], None
            for row, program, future in zip(wanted, built, runs, strict=True):
                try:
                    if problem := self._judged(row, program, future.result):
                        failed.append((row, problem))
                except NoBoardError as error:  # what others measured is kept
                    gone = error
        if gone is not None:
            raise gone
        for row, problem in failed:
            self._halved(row, problem)

    def _todo(self) -> dict[Task, list[KernelFile]]:
        """What is not measured yet."""
        found = {
            task: [k for k in call.kernels if self._record(task, k) is None]
            for task, call in self.calls.items()
            if task not in self.report.unseen
        }
        return {task: rows for task, rows in found.items() if rows}

    def _trial(self, wanted: Mapping[Task, KernelFile]) -> Program | Bundle:
        self.report.builds += 1
        return self._compiled(Trial({**self._usual(), **wanted}))

    def _measured(self, program: Program | Bundle, folder: Path) -> list[Run]:
        return self.job.measurer.run(program, self.job.cases, self.limit, folder)

    def _judged(
        self,
        wanted: Mapping[Task, KernelFile],
        program: Program | Bundle,
        result: Callable[[], list[Run]],
    ) -> str:
        """Keep what a trial gave; why it cannot be, or ""."""
        try:
            runs = result()
        except NoBoardError:
            raise
        except MegccError as error:
            return str(error)
        problem = self._wrong(runs)
        if not problem:
            self._keep(program, runs, wanted)
        return problem

    def _halved(self, wanted: Mapping[Task, KernelFile], problem: str) -> None:
        """Measure each half of candidates that failed together, until those to blame are alone."""
        if len(wanted) == 1:
            ((task, kernel),) = wanted.items()
            self._refuse(task, kernel, problem)
            return
        rows = list(wanted.items())
        for part in (dict(rows[: len(rows) // 2]), dict(rows[len(rows) // 2 :])):
            program = self._trial(part)
            run = partial(self._measured, program, self.folder / "0")
            if again := self._judged(part, program, run):
                self._halved(part, again)

    def _usual(self) -> dict[Task, KernelFile]:
        return {task: call.usual for task, call in self.calls.items()}

    def _wrong(self, runs: Sequence[Run]) -> str:
        """Which output is not what the untuned model computes, or ""."""
        for run, base in zip(runs, self.base, strict=True):
            for name, want in base.outputs.items():
                found = difference(name, run.outputs[name], want, TOLERANCE)
                if not found.ok:
                    return f"output '{name}' differs: {found}"
        return ""

    # ---- records -----------------------------------------------------------------------------

    def _keep(
        self,
        program: Program | Bundle,
        runs: Sequence[Run],
        wanted: Mapping[Task, KernelFile | None],
    ) -> None:
        """Record what the calls of these tasks took, each by the kernel that served it."""
        costs = self._costs(program, runs)
        fresh = []
        for task, kernel in wanted.items():
            call = self.calls[task]
            for each in call.kernels if kernel is None else (kernel,):
                samples = costs.get(call.signature(each))
                if samples and self._record(task, each) is None:
                    fresh.append(self._made(task, each, samples))
                elif kernel is not None and not samples:
                    self.report.unseen.add(task)
        self._write(fresh)

    def _costs(
        self, program: Program | Bundle, runs: Sequence[Run]
    ) -> dict[Signature, list[float]]:
        """Every execution of every call, by what the call looks like."""
        found: dict[Signature, list[float]] = {}
        for steps, run in zip(self._steps(program), runs, strict=True):
            for number, samples in run.calls.items():
                found.setdefault(steps[number], []).extend(samples)
        return found

    def _steps(self, program: Program | Bundle) -> list[list[Signature]]:
        """For each case the calls of the program that serves it, as they are numbered there."""
        bundle = program if isinstance(program, Bundle) else bundle_of(program)
        codes = Compiled.of(bundle).codes
        found = []
        for inputs in self.job.cases:
            shapes = {name: array.shape for name, array in inputs.items()}
            number = bundle.variants.index(variant_for(bundle, sizes_of(bundle, shapes)))
            code = codes[number].program
            found.append(
                [
                    (code.kernels[s.kernel].symbol, tuple(str(a) for a in s.attrs))
                    for s in code.calls
                    if isinstance(s, Step)
                ]
            )
        return found

    def _present(self, program: Program | Bundle, call: Call) -> KernelFile | None:
        """The candidate that a program has for a call."""
        steps = {step for row in self._steps(program) for step in row}
        return next((k for k in call.kernels if call.signature(k) in steps), None)

    def _made(
        self, task: Task, kernel: KernelFile, samples: Sequence[float], why: str = ""
    ) -> Record:
        cost, spread = middle(samples) if samples else (None, 0.0)
        return Record(
            task,
            kernel.stem,
            kernel.settings,
            None if cost is None else round(cost, 1),
            self.job.measurer.unit,
            round(spread, 1),
            self.job.measurer.device,
            why,
            self.job.version,
            digest(kernel.stem),
        )

    def _refuse(self, task: Task, kernel: KernelFile, why: str) -> None:
        self.report.refused.append(f"{kernel.candidate} for {task.op}: {why}")
        self._write([self._made(task, kernel, (), why)])

    def _write(self, fresh: Sequence[Record]) -> None:
        if fresh:
            append(self.job.records, fresh)
            self.report.records += len(fresh)
            self._learn()

    def _learn(self) -> None:
        """Read all records anew: another writer may have added some."""
        paths = [*self.job.earlier, *([self.job.records] if self.job.records.exists() else [])]
        self.known = Known([read(path) for path in paths])

    def _record(self, task: Task, kernel: KernelFile) -> Record | None:
        measurer = self.job.measurer
        return self.known.record(task, kernel, measurer.unit, measurer.device)

    def _cost(self, task: Task, kernel: KernelFile) -> float | None:
        record = self._record(task, kernel)
        return None if record is None else record.cost

    # ---- the model as a whole ----------------------------------------------------------------

    def _settled(self, before: float) -> float:
        """What the model takes with the records; candidates that make it take more are refused.

        A kernel that is faster by itself may cost more around it, as where another one works in
        place.
        """
        while True:
            self.job.tell("measuring the tuned model")
            program = self._compiled(self.known)
            taken = {t: k for t, c in self.calls.items() if (k := self._present(program, c))}
            changed = [t for t, k in taken.items() if self.default.get(t) not in (None, k)]
            if not changed:
                return before
            after, problem = self._whole(program)
            if not problem:
                return after
            changed.sort(key=lambda task: self._gain(task, taken[task]))
            for task in self._blamed(changed, taken):
                self._refuse(task, taken[task], problem)

    def _whole(self, program: Program | Bundle) -> tuple[float, str]:
        """What a whole program takes, and why it is not better than the untuned one, or ""."""
        try:
            runs = self._measured(program, self.folder / "0")
        except NoBoardError:
            raise
        except ToolError as error:
            return 0.0, str(error)
        before, after = (sum(run.whole for run in rows) for rows in (self.base, runs))
        noise = sum(run.spread for run in (*self.base, *runs))
        slower = "the whole model takes more with it" if after > before + noise else ""
        return after, self._wrong(runs) or slower

    def _blamed(self, changed: Sequence[Task], taken: Mapping[Task, KernelFile]) -> Sequence[Task]:
        """Which of these candidates make the model worse, found by halves; of least gain first."""
        if len(changed) == 1:
            return changed
        half = len(changed) // 2
        found: list[Task] = []
        for part in (changed[:half], changed[half:]):
            program = self._compiled(Trial({**self.default, **{t: taken[t] for t in part}}))
            if self._whole(program)[1]:
                found += self._blamed(part, taken)
        return found or changed[:half]  # only together they are worse

    def _gain(self, task: Task, kernel: KernelFile) -> float:
        return (self._cost(task, self.default[task]) or 0) - (self._cost(task, kernel) or 0)

    # ---- the rest ----------------------------------------------------------------------------

    def _compiled(self, knowledge: Knowledge) -> Program | Bundle:
        with applied(knowledge):
            return self.job.compile()

    def _row(self, call: Call) -> Row | None:
        costs = {
            k.candidate: c for k in call.kernels if (c := self._cost(call.task, k)) is not None
        }
        default = self.default.get(call.task)
        if not costs or default is None or default.candidate not in costs:
            return None
        return Row(call.task, default.candidate, costs)

    def _elapsed(self) -> float:
        return time.monotonic() - self.begin

    def _progress(self, todo: Mapping[Task, Sequence[KernelFile]]) -> str:
        left = max(len(rows) for rows in todo.values())
        each = self._elapsed() / (1 + self.report.builds)
        seconds = left * each
        if self.job.seconds is not None:
            seconds = min(seconds, self.job.seconds - self._elapsed())
        best = self._best_so_far()
        return (
            f"build {self.report.builds + 1} of {self.report.builds + left}, {self.report.records}"
            f" records, best so far {best:.1%} of the untuned calls, about {seconds:.0f} s left"
        )

    def _best_so_far(self) -> float:
        """The best known candidates' cost over that of the default ones."""
        best = usual = 0.0
        for task, call in self.calls.items():
            default = self._cost(task, self.default[task]) if task in self.default else None
            costs = [c for k in call.kernels if (c := self._cost(task, k)) is not None]
            if default is not None:
                best, usual = best + min(costs), usual + default
        return best / usual if usual else 1.0
