"""What becomes of a case: its package is compiled from the model alone, then fed its inputs."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx.backend.test.runner import Runner

from tests.onnx_suite import batch
from tests.onnx_suite.cases import Case
from tvm_megcc import backend
from tvm_megcc.errors import MegccError, ToolError

LEFT_OUT = Path(__file__).with_name("left_out.txt")
REFUSED = Path(__file__).with_name("refused.txt")

#: In the order of a table.
STATUSES = ("pass", "refused", "wrong", "internal", "left out")

#: Cases that are built into one program.
BATCH = 100
#: Seconds that a case may run.
TIMEOUT = 60.0
#: Error of f16 results, of each and of the largest: what is stored between operators is rounded to
#: f16, here and in the references, and two units in the last place apart where a step rounds to
#: another neighbour; what is left of a difference is off by units of what it was the difference of.
HALF_RTOL = 2.0**-9


@dataclass(frozen=True, slots=True)
class Outcome:
    """One of `STATUSES`, and the words that go with it."""

    name: str
    operator: str
    status: str
    said: str = ""


def left_out() -> dict[str, str]:
    """Name of each case that is not run -> why."""
    return _listed(LEFT_OUT)


def refused() -> dict[str, str]:
    """Name of each case that may be refused -> why."""
    return _listed(REFUSED)


def _listed(file: Path) -> dict[str, str]:
    """A list of names, each with the comment that stands above it."""
    reason, found = "", {}
    for line in file.read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            assert line not in found, f"{file.name}: {line} is listed twice"
            found[line] = reason
    return found


def outcomes(cases: Sequence[Case], *, sanitize: bool = False) -> Iterator[Outcome]:
    """The outcome of each case, in any order; see `batch.build`."""
    reasons = left_out()
    for case in cases:
        if case.name in reasons:
            yield Outcome(case.name, case.operator, "left out", reasons[case.name])
    run = [case for case in cases if case.name not in reasons]
    for start in range(0, len(run), BATCH):
        yield from _batch(run[start : start + BATCH], sanitize)


def _batch(cases: Sequence[Case], sanitize: bool) -> Iterator[Outcome]:
    packages: dict[str, backend.Compiled] = {}
    for case in cases:
        found = _compiled(case)
        if isinstance(found, Outcome):
            yield found
        else:
            packages[case.name] = found
    yield from _run([case for case in cases if case.name in packages], packages, sanitize)


def _compiled(case: Case) -> backend.Compiled | Outcome:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return backend.compiled(case.model, case.name, case.input_shapes)
    except MegccError as error:
        return _outcome(case, "refused", error)
    except Exception as error:
        return _outcome(case, "internal", error)


def _run(
    cases: Sequence[Case], packages: Mapping[str, backend.Compiled], sanitize: bool
) -> Iterator[Outcome]:
    """Build and run; where the compiler refuses one, the others are built without it."""
    if not cases:
        return
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as folder:
        try:
            chosen = {case.name: packages[case.name] for case in cases}
            program = batch.build(chosen, Path(folder), sanitize=sanitize)
        except ToolError as error:
            if len(cases) == 1:
                yield _outcome(cases[0], "internal", error)
                return
            middle = len(cases) // 2
            yield from _run(cases[:middle], packages, sanitize)
            yield from _run(cases[middle:], packages, sanitize)
            return
        for case in cases:
            yield _ran(case, packages[case.name], program)


def _ran(case: Case, found: backend.Compiled, program: Path) -> Outcome:
    for inputs, wanted in case.data_sets:
        try:
            outputs = found.run(program, inputs, [case.name], TIMEOUT)
        except MegccError as error:
            # What the program says itself is a refusal; a crash says nothing of that kind.
            said = "run: error:" in str(error) or not isinstance(error, ToolError)
            return _outcome(case, "refused" if said else "internal", error)
        half = any(getattr(value, "dtype", None) == np.float16 for value in wanted)
        rtol = max(case.rtol, HALF_RTOL) if half else case.rtol
        try:
            atol = max(case.atol, HALF_RTOL * _largest(wanted)) if half else case.atol
            Runner.assert_similar_outputs(wanted, outputs, rtol, atol)
        except Exception as error:
            return _outcome(case, "wrong", error)
    return Outcome(case.name, case.operator, "pass")


def _outcome(case: Case, status: str, error: Exception) -> Outcome:
    said = " ".join(str(error).split()).rstrip(".")
    if not isinstance(error, MegccError):
        said = f"{type(error).__name__}: {said}"
    return Outcome(case.name, case.operator, status, said[:500])


def by_operator(found: Iterable[Outcome]) -> dict[str, dict[str, int]]:
    """Operator -> status -> how many cases, sorted."""
    table: dict[str, dict[str, int]] = {}
    for outcome in found:
        row = table.setdefault(outcome.operator, dict.fromkeys(STATUSES, 0))
        row[outcome.status] += 1
    return dict(sorted(table.items()))


def reason(outcome: Outcome) -> str:
    """A refusal without the names of the case's own node and values."""
    return re.sub(r"'[^']*'", "'...'", outcome.said)


def _largest(arrays: Sequence[Any]) -> float:
    """The largest magnitude of finite numbers."""
    found = (np.asarray(a, np.float64) for a in arrays if np.asarray(a).dtype.kind in "fiu")
    return max((float(np.abs(a[np.isfinite(a)]).max(initial=0)) for a in found), default=0.0)
