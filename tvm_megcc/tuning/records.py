"""Records of what kernels cost, in a file that several writers may append to.

A line is a JSON object: what was called (operator, facts, machine), by what (kernel, parameters),
what it cost (cost, unit, spread, device, at; a null cost with the reason where it is refused),
and of which sources (package, digest). Lines are only ever appended; of several for one candidate
the last one holds. A writer that was killed leaves at most one line that is cut, which readers skip
and the next writer ends.

Example
-------
>>> append("r.json", [record])                                     # doctest: +SKIP
>>> with tuned.applied(Known(read("r.json"))): ...                 # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import ClassVar

from tvm_megcc.codegen_c.sources import headers
from tvm_megcc.core import file_lock
from tvm_megcc.errors import InputError
from tvm_megcc.kernels.expression import Facts
from tvm_megcc.kernels.tuned import Candidate, Figures, Task, applied

#: Of costs, the one that says more first.
UNITS = ("ns", "instructions")

#: Unit, device and sizes: candidates are compared where all three are equal.
Where = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Record:
    """Measured cost of one candidate of a task."""

    task: Task
    kernel: str  # stem of its file
    parameters: tuple[tuple[str, int], ...]  # (macro, value) of its settings
    cost: float | None  # of one execution; None if the candidate is refused
    unit: str  # ns or instructions
    spread: float  # difference of the slowest and the fastest quarter's border, in the same unit
    device: str  # where it was measured: ``qemu``, ``local``, or the key of boards at a tracker
    at: str  # sizes of a call's dynamic dims when measured, as in ``m=1,64``; or ""
    why: str  # reason of a refusal, or ""
    package: str  # the version of tvm_megcc
    digest: str  # of the kernel's file and its headers: a record of other sources is stale

    @property
    def candidate(self) -> str:
        """The kernel's name and its settings, such as ``matmul_f32 NR=8``."""
        return " ".join([self.kernel, *(f"{macro}={value}" for macro, value in self.parameters)])

    def line(self) -> str:
        row = {
            "operator": self.task.op,
            "machine": self.task.machine,
            "facts": json.loads(self.task.facts),
            "kernel": self.kernel,
            "parameters": dict(self.parameters),
            "cost": self.cost,
            "unit": self.unit,
            "spread": self.spread,
            "device": self.device,
            "at": self.at,
            "why": self.why,
            "package": self.package,
            "digest": self.digest,
        }
        return json.dumps(row)

    @classmethod
    def of_line(cls, text: str) -> Record:
        """The record of a line; ValueError, KeyError or TypeError for another text."""
        row = json.loads(text)
        facts = row["facts"]
        task = Task(
            str(row["operator"]),
            str(row["machine"]),
            json.dumps({name: facts[name] for name in sorted(facts)}),
        )
        if row["unit"] not in UNITS:
            raise ValueError(row["unit"])
        return cls(
            task,
            str(row["kernel"]),
            tuple((str(macro), int(value)) for macro, value in row["parameters"].items()),
            None if row["cost"] is None else float(row["cost"]),
            row["unit"],
            float(row["spread"]),
            str(row["device"]),
            str(row.get("at", "")),
            str(row["why"]),
            str(row["package"]),
            str(row["digest"]),
        )


def digest(kernel: Candidate) -> str:
    """Digest of all texts that a kernel is compiled from."""
    return _digest(kernel.sources())


@cache
def _digest(text: str) -> str:
    parts = [text, *headers([text]).values()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class File:
    """The records of a file; `problem` is a sentence on unreadable lines, or ""."""

    path: str
    records: tuple[Record, ...]
    problem: str = ""


def read(path: str | os.PathLike[str]) -> File:
    """The records of a file; InputError if it cannot be read, or has no record."""
    name = os.fspath(path)
    try:
        lines = Path(path).read_bytes().decode(errors="replace").split("\n")
    except OSError as error:
        raise InputError(
            f"'{name}': {error.strerror}; tvmc tune writes files of records"
        ) from error
    records: list[Record] = []
    bad: list[int] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            records.append(Record.of_line(line))
        except (ValueError, KeyError, TypeError, AttributeError):
            bad.append(number)
    if bad and not records:
        raise InputError(f"'{name}' holds no records; tvmc tune writes files of them")
    if not bad:
        return File(name, tuple(records))
    what = f"line {bad[0]} is" if len(bad) == 1 else f"{len(bad)} lines, the first {bad[0]}, are"
    return File(name, tuple(records), f"'{name}': {what} no record and skipped")


def append(path: str | os.PathLike[str], records: Iterable[Record]) -> None:
    """Add records to a file, to which others may write at the same time; InputError if it fails."""
    text = "".join(f"{record.line()}\n" for record in records)
    try:
        with open(path, "a+b") as file:
            file_lock.hold(file.fileno(), wait=True)
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                if file.read(1) != b"\n":  # somebody was killed here
                    text = "\n" + text
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"'{os.fspath(path)}' cannot be written ({error.strerror})") from error


@dataclass(slots=True)
class Known:
    """`kernels.tuned.Knowledge` from records; it remembers records that could not be used."""

    is_trial: ClassVar[bool] = False

    files: Sequence[File]  # a later file takes precedence
    asked: set[str] = field(default_factory=set)
    stale: set[tuple[Task, str]] = field(default_factory=set)
    _rows: dict[Task, dict[Where, dict[str, Record]]] = field(init=False)

    def __post_init__(self) -> None:
        self._rows = {}
        for file in self.files:
            for record in file.records:
                where = self._rows.setdefault(record.task, {})
                # A newer record also makes its device the newest one.
                rows = where.pop((record.unit, record.device, record.at), {})
                where[record.unit, record.device, record.at] = rows
                rows[record.candidate] = record

    def knows(self, task: Task) -> bool:
        self.asked.add(task.machine)
        return task in self._rows

    def figures(self, task: Task, facts: Facts, kernels: Sequence[Candidate]) -> Figures | None:
        self.asked.add(task.machine)
        for unit in UNITS:
            places = [where for where in self._rows.get(task, ()) if where[0] == unit]
            for where in reversed(places):
                found = [self.record(task, kernel, where) for kernel in kernels]
                if any(record is not None and record.cost is not None for record in found):
                    pairs = zip(kernels, found, strict=True)
                    return Figures(tuple(_figure(r, k == kernels[0]) for k, r in pairs), unit)
        return None

    def record(self, task: Task, kernel: Candidate, where: Where) -> Record | None:
        """The latest record of a candidate of these sources."""
        record = self._rows.get(task, {}).get(where, {}).get(kernel.candidate)
        if record is None or record.digest == digest(kernel):
            return record
        self.stale.add((task, kernel.candidate))
        return None

    def notes(self) -> list[str]:
        """A sentence for each reason why records were not used."""
        found = [file.problem for file in self.files if file.problem]
        names = ", ".join(f"'{file.path}'" for file in self.files)
        machines = sorted({task.machine for task in self._rows})
        for machine in sorted(self.asked - set(machines)):
            found.append(
                f"{names}: no record is for {machine}, only for {', '.join(machines) or 'nothing'};"
                f" kernels are chosen as without it; tvmc tune --arch {machine} measures them"
            )
        if self.stale:
            found.append(
                f"{names}: {len(self.stale)} records are of kernels that have changed since and are"
                " skipped; tvmc tune measures them again"
            )
        return found


def _figure(record: Record | None, is_usual: bool) -> float | None:
    """Cost of a candidate for comparison: all but the usual one have their spread added."""
    if record is None or record.cost is None:
        return None
    return record.cost if is_usual else record.cost + record.spread


@contextmanager
def apply_best(*paths: str | os.PathLike[str]) -> Iterator[Known]:
    """Compile within the block with the best kernels that files of records know.

    What it gives can say afterwards (`Known.notes`) which records were of no use.

    Raises
    ------
    InputError
        When a file cannot be read.
    """
    known = Known([read(path) for path in paths])
    with applied(known):
        yield known


@contextmanager
def applied_from(
    paths: Sequence[str | os.PathLike[str]], advise: Callable[[str], None]
) -> Iterator[None]:
    """`apply_best` where there are files, and what holds outside where there are none.

    `advise` is called with each reason why records were not used.
    """
    if not paths:
        yield
        return
    with apply_best(*paths) as known:
        yield
    for line in known.notes():
        advise(line)
