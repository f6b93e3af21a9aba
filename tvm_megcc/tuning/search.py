"""Tuning a model: rounds of builds in which each call takes one candidate after another.

Enters: how the model is compiled, what measures it, a file of records. Leaves: records appended to
the file after every round, and a `Report`. A round is one build in which every call of the model
has another candidate, so that there are as many builds as the call of most candidates has, not as
many as there are candidates.

A build that fails, takes too long or computes something else is halved until the candidates that
are to blame are alone: they are refused, and the others measured. In the end the whole model is
measured with the records, and candidates that make it take more are refused, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from tvm_megcc.core.program import Bundle, Program
from tvm_megcc.errors import MegccError
from tvm_megcc.kernels.tuned import Candidate, Task
from tvm_megcc.tuning.findings import Report, Row
from tvm_megcc.tuning.job import Bench, Job
from tvm_megcc.tuning.ledger import Ledger
from tvm_megcc.tuning.measuring import NoBoardError, Run, workshop
from tvm_megcc.tuning.trials import Call, Survey, Trial


def tune(job: Job) -> Report:
    """Measure the candidates of each call; report the gain.

    Raises MegccError if the model cannot be compiled, or cannot be measured without tuning.
    """
    with workshop() as folder:
        return _Search(job, Bench(job, folder), Ledger(job)).run()


@dataclass(slots=True)
class _Search:
    job: Job
    bench: Bench
    ledger: Ledger
    default: dict[Task, Candidate] = field(default_factory=dict)
    report: Report = field(default_factory=Report)
    begin: float = field(default_factory=time.monotonic)

    def run(self) -> Report:
        bench, ledger, report = self.bench, self.ledger, self.report
        report.unit = self.job.measurer.unit
        survey = Survey(self.job.preference)
        untuned = bench.begin(survey)
        ledger.begin(survey.calls, untuned)
        ledger.keep(untuned, bench.base, dict.fromkeys(survey.calls))
        found = {task: ledger.present(untuned, call) for task, call in survey.calls.items()}
        self.default = {task: kernel for task, kernel in found.items() if kernel is not None}
        report.before = bench.before
        try:
            self._rounds()
            report.after = self._settled()
        except KeyboardInterrupt:
            report.stopped = "interrupted"
        except NoBoardError as error:
            report.stopped = str(error)
        report.seconds = self._elapsed()
        report.records, report.unseen = ledger.added, ledger.unseen
        report.rows = [row for call in ledger.calls.values() if (row := self._row(call))]
        return report

    # ---- rounds ------------------------------------------------------------------------------

    def _rounds(self) -> None:
        """As many rounds at once as the measurer has slots."""
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

    def _together(self, wanted: Sequence[Mapping[Task, Candidate]]) -> None:
        """Measure rounds in parallel; then divide each that failed, until its culprit is known."""
        built = [self._trial(row) for row in wanted]
        with ThreadPoolExecutor(len(wanted)) as pool:
            runs = [
                pool.submit(self.bench.measured, program, slot)
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

    def _todo(self) -> dict[Task, list[Candidate]]:
        """Candidates that are not measured yet."""
        found = {
            task: [k for k in call.kernels if self.ledger.record(task, k) is None]
            for task, call in self.ledger.calls.items()
            if task not in self.ledger.unseen
        }
        return {task: rows for task, rows in found.items() if rows}

    def _trial(self, wanted: Mapping[Task, Candidate]) -> Program | Bundle:
        self.report.builds += 1
        return self.bench.compiled(Trial({**self._usual(), **wanted}))

    def _judged(
        self,
        wanted: Mapping[Task, Candidate],
        program: Program | Bundle,
        result: Callable[[], list[Run]],
    ) -> str:
        """Keep a trial's results; the reason if it is refused, or ""."""
        try:
            runs = result()
        except NoBoardError:
            raise
        except MegccError as error:
            return str(error)
        problem = self.bench.wrong(runs)
        if not problem:
            self.ledger.keep(program, runs, wanted)
        return problem

    def _halved(self, wanted: Mapping[Task, Candidate], problem: str) -> None:
        """Measure each half of candidates that failed together, until those to blame are alone."""
        if len(wanted) == 1:
            ((task, kernel),) = wanted.items()
            self._refuse(task, kernel, problem)
            return
        rows = list(wanted.items())
        for part in (dict(rows[: len(rows) // 2]), dict(rows[len(rows) // 2 :])):
            program = self._trial(part)
            run = partial(self.bench.measured, program)
            if again := self._judged(part, program, run):
                self._halved(part, again)

    def _usual(self) -> dict[Task, Candidate]:
        return {task: call.usual for task, call in self.ledger.calls.items()}

    def _refuse(self, task: Task, kernel: Candidate, why: str) -> None:
        self.report.refused.append(f"{kernel.candidate} for {task.op}: {why}")
        self.ledger.refuse(task, kernel, why)

    # ---- the model as a whole ----------------------------------------------------------------

    def _settled(self) -> float:
        """Cost of the model with the records; candidates that make it slower are refused.

        A kernel that is faster by itself may cost more around it, as where another one works in
        place.
        """
        ledger = self.ledger
        while True:
            self.job.tell("measuring the tuned model")
            program = self.bench.compiled(ledger.known)
            found = {task: ledger.present(program, call) for task, call in ledger.calls.items()}
            taken = {task: kernel for task, kernel in found.items() if kernel is not None}
            changed = [t for t, k in taken.items() if self.default.get(t) not in (None, k)]
            if not changed:
                return self.bench.before
            after, problem = self.bench.whole(program)
            if not problem:
                return after
            changed.sort(key=lambda task: self._gain(task, taken[task]))
            for task in self._blamed(changed, taken):
                self._refuse(task, taken[task], problem)

    def _blamed(self, changed: Sequence[Task], taken: Mapping[Task, Candidate]) -> Sequence[Task]:
        """Those of `changed` that make the model worse, found by halves; of least gain first."""
        if len(changed) == 1:
            return changed
        half = len(changed) // 2
        found: list[Task] = []
        for part in (changed[:half], changed[half:]):
            program = self.bench.compiled(Trial({**self.default, **{t: taken[t] for t in part}}))
            if self.bench.whole(program)[1]:
                found += self._blamed(part, taken)
        return found or changed[:half]  # only together they are worse

    def _gain(self, task: Task, kernel: Candidate) -> float:
        return (self.ledger.cost(task, self.default[task]) or 0) - (
            self.ledger.cost(task, kernel) or 0
        )

    # ---- the report --------------------------------------------------------------------------

    def _row(self, call: Call) -> Row | None:
        costs, default = self.ledger.costs(call), self.default.get(call.task)
        if default is None or default.candidate not in costs:
            return None
        return Row(call.task, default.candidate, costs)

    def _elapsed(self) -> float:
        return time.monotonic() - self.begin

    def _progress(self, todo: Mapping[Task, Sequence[Candidate]]) -> str:
        left = max(len(rows) for rows in todo.values())
        each = self._elapsed() / (1 + self.report.builds)
        seconds = left * each
        if self.job.seconds is not None:
            seconds = min(seconds, self.job.seconds - self._elapsed())
        best = self._best_so_far()
        return (
            f"build {self.report.builds + 1} of {self.report.builds + left}, {self.ledger.added}"
            f" records, best so far {best:.1%} of the untuned calls, about {seconds:.0f} s left"
        )

    def _best_so_far(self) -> float:
        """The best known candidates' cost over that of the default ones."""
        best = usual = 0.0
        for call in self.ledger.calls.values():
            if row := self._row(call):
                best, usual = best + row.costs[row.best], usual + row.costs[row.default]
        return best / usual if usual else 1.0
