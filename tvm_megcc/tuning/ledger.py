"""The records of a job: what is known of its calls, and what its measured programs add.

Enters: programs with their runs. Leaves: records in the job's file, and the costs of candidates.
A call of dynamic sizes is recorded with the sizes of its measurement, as its cost means nothing at
others. Each set of inputs counts as much as another one, whatever it takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean

from tvm_megcc.codegen_c.emit.compiled import Compiled
from tvm_megcc.core.program import Bundle, Program, bundle_of
from tvm_megcc.core.program import Call as Step
from tvm_megcc.dims import Dim, at, symbols
from tvm_megcc.kernels.tuned import Candidate, Task
from tvm_megcc.memory.variants import sizes_of, variant_for
from tvm_megcc.tuning.job import Job
from tvm_megcc.tuning.measuring import Run, middle
from tvm_megcc.tuning.records import Known, Record, append, digest, read
from tvm_megcc.tuning.trials import Call, Signature

#: The executions of one call, for each set of inputs with which it ran.
Samples = list[list[float]]


@dataclass(slots=True)
class Ledger:
    """Costs of the calls of a job, as far as they are known."""

    job: Job
    calls: dict[Task, Call] = field(default_factory=dict)  # those with several candidates
    known: Known = field(default_factory=lambda: Known([]))  # all records
    #: The sizes at which a call of dynamic sizes is measured.
    places: dict[Task, str] = field(default_factory=dict)
    added: int = 0  # records that were written
    unseen: set[Task] = field(default_factory=set)  # calls that did not run

    def begin(self, calls: dict[Task, Call], untuned: Program | Bundle) -> None:
        """Take the calls of the untuned model, and read their records."""
        self.calls = calls
        shown = [set(row) for row in self._steps(untuned)]
        sizes = self._sizes(untuned)
        for task, call in calls.items():
            mine = {call.signature(kernel) for kernel in call.kernels}
            cases = [row for row, found in zip(sizes, shown, strict=True) if mine & found]
            self.places[task] = _place(call, cases)
        self.learn()

    def learn(self) -> None:
        """Read all measurement records again: another process may have added some."""
        job = self.job
        paths = [*job.earlier, *([job.records] if job.records.exists() else [])]
        self.known = Known([read(path) for path in paths])

    def record(self, task: Task, kernel: Candidate) -> Record | None:
        measurer = self.job.measurer
        place = self.places.get(task, "")
        return self.known.record(task, kernel, (measurer.unit, measurer.device, place))

    def cost(self, task: Task, kernel: Candidate) -> float | None:
        record = self.record(task, kernel)
        return None if record is None else record.cost

    def costs(self, call: Call) -> dict[str, float]:
        """Known costs of a call, by candidate."""
        found = {k.candidate: self.cost(call.task, k) for k in call.kernels}
        return {name: cost for name, cost in found.items() if cost is not None}

    def keep(
        self,
        program: Program | Bundle,
        runs: Sequence[Run],
        wanted: Mapping[Task, Candidate | None],
    ) -> None:
        """Record the costs of these tasks' calls, for the kernel that served each."""
        taken = self._taken(program, runs)
        fresh = []
        for task, kernel in wanted.items():
            call = self.calls[task]
            for each in call.kernels if kernel is None else (kernel,):
                samples = taken.get(call.signature(each))
                if samples and self.record(task, each) is None:
                    fresh.append(self._made(task, each, samples))
                elif kernel is not None and not samples:
                    self.unseen.add(task)
        self._write(fresh)

    def refuse(self, task: Task, kernel: Candidate, why: str) -> None:
        self._write([self._made(task, kernel, [], why)])

    def present(self, program: Program | Bundle, call: Call) -> Candidate | None:
        """The candidate that a program has for a call."""
        steps = {step for row in self._steps(program) for step in row}
        return next((k for k in call.kernels if call.signature(k) in steps), None)

    def _taken(self, program: Program | Bundle, runs: Sequence[Run]) -> dict[Signature, Samples]:
        """Costs of every execution of every call, by the call's signature."""
        found: dict[Signature, Samples] = {}
        for steps, run in zip(self._steps(program), runs, strict=True):
            here: dict[Signature, list[float]] = {}
            for number, samples in run.calls.items():
                here.setdefault(steps[number], []).extend(samples)
            for signature, row in here.items():
                found.setdefault(signature, []).append(row)
        return found

    def _sizes(self, program: Program | Bundle) -> list[dict[str, int]]:
        """The value of every symbol, by case."""
        bundle = bundle_of(program)
        return [
            sizes_of(bundle, {name: array.shape for name, array in inputs.items()})
            for inputs in self.job.cases
        ]

    def _steps(self, program: Program | Bundle) -> list[list[Signature]]:
        """Signatures of the calls of the program that serves each case, in the program's order."""
        bundle = bundle_of(program)
        codes = Compiled.of(bundle).codes
        found = []
        for sizes in self._sizes(bundle):
            number = bundle.variants.index(variant_for(bundle, sizes))
            code = codes[number].program
            found.append(
                [
                    (code.kernels[s.kernel].symbol, tuple(str(a) for a in s.attrs))
                    for s in code.calls
                    if isinstance(s, Step)
                ]
            )
        return found

    def _made(self, task: Task, kernel: Candidate, samples: Samples, why: str = "") -> Record:
        rows = [middle(row) for row in samples]
        measurer = self.job.measurer
        return Record(
            task,
            kernel.stem,
            kernel.settings,
            round(mean(cost for cost, _ in rows), 1) if rows else None,
            measurer.unit,
            round(mean(spread for _, spread in rows), 1) if rows else 0.0,
            measurer.device,
            self.places.get(task, ""),
            why,
            self.job.version,
            digest(kernel),
        )

    def _write(self, fresh: Sequence[Record]) -> None:
        if fresh:
            append(self.job.records, fresh)
            self.added += len(fresh)
            self.learn()


def _place(call: Call, cases: Sequence[Mapping[str, int]]) -> str:
    """The sizes of a call's dynamic dims in these cases, as in ``m=1,64``; or ""."""
    parts = []
    for name, value in sorted(call.facts.items()):
        if isinstance(value, Dim):
            known = [at(value, c) for c in cases if all(s.name in c for s in symbols(value))]
            parts.append(f"{name}={','.join(map(str, known))}")
    return " ".join(parts)
