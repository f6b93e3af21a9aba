"""A tuning job: how the programs of a model are built, run and compared.

Enters: a `Job`. Leaves: a `Bench`, which compiles the model by any knowledge, measures what comes
out, and says whether it computes what the untuned model does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tvm_megcc.compare import Tolerance, difference
from tvm_megcc.core.preference import Preference
from tvm_megcc.core.program import Bundle, Program, programs_of
from tvm_megcc.errors import ToolError
from tvm_megcc.kernels.tuned import Knowledge, applied
from tvm_megcc.tuning.measuring import Arrays, Measurer, NoBoardError, Run
from tvm_megcc.tuning.trials import Survey

#: How far outputs may be from those of the usual kernels: forms of sums that are equal but for
#: rounding, through a whole model; and where some of it is in f16, which rounds to 2 ** -11.
TOLERANCE, HALF_TOLERANCE = Tolerance(1e-3, 1e-6), Tolerance(1e-2, 1e-6)
#: A build may take so many times what the usual kernels take, and so many seconds more.
PATIENCE, GRACE_S = 30, 20


@dataclass(frozen=True, slots=True)
class Job:
    """A model to tune, and how its programs are compiled and measured."""

    #: Compiles the model for the machine, with the knowledge that is applied then.
    compile: Callable[[], Program | Bundle]
    cases: Sequence[Arrays]  # inputs; for dynamic sizes several, a set for each bucket
    preference: Preference  # what the model is compiled with
    measurer: Measurer
    records: Path  # where records go; those that are there already are not measured again
    earlier: Sequence[Path] = ()  # further files whose records are used
    #: `trials`, `seconds`, `tell`: as `session.tune_model` takes them.
    trials: int | None = None
    seconds: float | None = None
    version: str = ""  # of the package
    tell: Callable[[str], None] = lambda line: None


@dataclass(slots=True)
class Bench:
    """Compiles, measures and compares programs of a job."""

    job: Job
    folder: Path  # for builds
    base: list[Run] = field(default_factory=list)  # of the untuned model, by case
    limit: float | None = None  # seconds that a run may take
    tolerance: Tolerance = TOLERANCE

    def compiled(self, knowledge: Knowledge) -> Program | Bundle:
        with applied(knowledge):
            return self.job.compile()

    def begin(self, survey: Survey) -> Program | Bundle:
        """Compile and measure the untuned model, which all others are compared with."""
        self.job.tell("compiling")
        program = self.compiled(survey)
        self.job.tell("measuring the model as it is")
        started = time.monotonic()
        self.base = self.measured(program)
        self.limit = GRACE_S + PATIENCE * (time.monotonic() - started)
        self.tolerance = HALF_TOLERANCE if has_halves(program) else TOLERANCE
        return program

    @property
    def before(self) -> float:
        """Cost of the untuned model, over all cases."""
        return sum(run.whole for run in self.base)

    def measured(self, program: Program | Bundle, slot: int = 0) -> list[Run]:
        folder = self.folder / str(slot)
        return self.job.measurer.run(program, self.job.cases, self.limit, folder)

    def wrong(self, runs: Sequence[Run]) -> str:
        """The output that differs from the untuned model's, as a sentence, or ""."""
        for run, base in zip(runs, self.base, strict=True):
            for name, want in base.outputs.items():
                found = difference(name, run.outputs[name], want, self.tolerance)
                if not found.ok:
                    return f"output '{name}' differs: {found}"
        return ""

    def whole(self, program: Program | Bundle) -> tuple[float, str]:
        """Cost of a whole program, and why it is no better than the untuned one, or ""."""
        try:
            runs = self.measured(program)
        except NoBoardError:
            raise
        except ToolError as error:
            return 0.0, str(error)
        after = sum(run.whole for run in runs)
        noise = sum(run.spread for run in (*self.base, *runs))
        slower = "the whole model takes more with it" if after > self.before + noise else ""
        return after, self.wrong(runs) or slower


def has_halves(program: Program | Bundle) -> bool:
    """Whether some tensor of a program is in f16."""
    return any(t.dtype == "f16" for found in programs_of(program) for t in found.tensors)
