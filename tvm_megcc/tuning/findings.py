"""Results of tuning, as a value and as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tvm_megcc.kernels.tuned import Task


@dataclass(frozen=True, slots=True)
class Row:
    """A tuned call, and the cost of each of its candidates."""

    task: Task
    default: str  # the candidate that is taken without records
    costs: Mapping[str, float]  # by candidate, the default among them

    @property
    def best(self) -> str:
        return min(self.costs, key=lambda name: (self.costs[name], name != self.default, name))

    @property
    def worst(self) -> str:
        return max(self.costs, key=lambda name: (self.costs[name], name))

    @property
    def gain(self) -> float:
        """Cost that the best candidate saves over the default."""
        return self.costs[self.default] - self.costs[self.best]


@dataclass(slots=True)
class Report:
    """Results of one tuning."""

    unit: str = ""
    #: `before`, `after`: the whole model, untuned and with the records; `after` is None where it
    #: was stopped.
    before: float = 0.0
    after: float | None = None
    #: `builds`, `records`: numbers of new ones.
    builds: int = 0
    records: int = 0
    seconds: float = 0.0
    rows: list[Row] = field(default_factory=list)
    #: Candidates that are never taken, each with the reason.
    refused: list[str] = field(default_factory=list)
    unseen: set[Task] = field(default_factory=set)  # calls that did not run with these inputs
    stopped: str = ""  # why it ended early, else "": what was measured until then is kept

    def table(self) -> list[tuple[str, ...]]:
        """A row for each tuned call, the largest gain first."""
        rows = sorted(self.rows, key=lambda row: -row.gain)
        return [
            (
                row.task.op,
                _sizes(row.task),
                *(_cell(row, name) for name in (row.worst, row.default, row.best)),
            )
            for row in rows
        ]

    def lines(self) -> Iterator[str]:
        """The report's text besides the table."""
        for line in self.refused:
            yield f"refused: {line}"
        if self.unseen:
            yield f"{len(self.unseen)} calls did not run with these inputs and are not tuned"
        yield (
            f"{len(self.rows)} different calls, {self.records} new records from {self.builds}"
            f" builds in {self.seconds:.0f} s"
        )
        if self.after is not None:
            ratio = self.after / self.before if self.before else 1.0
            yield (
                f"the whole model: {_number(self.before)} -> {_number(self.after)} {self.unit}"
                f" ({ratio:.1%})"
            )


def _cell(row: Row, candidate: str) -> str:
    return f"{_number(row.costs[candidate])} {candidate}"


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _sizes(task: Task) -> str:
    """The types and sizes of a call, as far as they are not 0 or 1; other facts are codes."""
    facts = json.loads(task.facts)
    return " ".join(
        f"{name}={str(value).partition(' for ')[0]}"
        for name, value in facts.items()
        if value not in (0, 1) and len(name) <= 2
    )


HEAD = ("operator", "sizes", "worst", "default", "best")
