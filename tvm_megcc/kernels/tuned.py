"""Measured costs of the kernels that may serve a call.

Enters: a call as a `Task`, and the kernels that can serve it. Leaves: the measured cost of each.
The source of the costs is set for the extent of a ``with`` block, as TVM's own records are, so that
nothing between the user and the choice passes it on.

Example
-------
>>> with applied(Constant({"gemm": 7.0})):                         # doctest: +SKIP
...     pipeline.compile_module(mod, "arm64", ...)
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from tvm_megcc.core.machine import machine
from tvm_megcc.dims import Dim, symbols
from tvm_megcc.kernels.expression import Fact, Facts


@dataclass(frozen=True, slots=True)
class Task:
    """A call that kernels serve, as records name it: equal in every model that has it.

    Attributes
    ----------
    op : str
    machine : str
        By its full name, as in ``arm64+dotprod``.
    facts : str
        JSON of the call's facts, types among them, in the order of their names. A dynamic dim is
        text: its formula and the bounds of its symbols, s0, s1, ...
    """

    op: str
    machine: str
    facts: str

    @classmethod
    def of(cls, op: str, arch: str, facts: Facts) -> Task:
        dims = [value for _, value in sorted(facts.items()) if isinstance(value, Dim)]
        found = [s for dim in dims for s in sorted(symbols(dim), key=lambda s: s.name)]
        # A symbol is called by its place: its name is the model's.
        places = {s.name: f"s{k}" for k, s in enumerate(dict.fromkeys(found))}
        plain = {name: _plain(facts[name], places) for name in sorted(facts)}
        return cls(op, machine(arch).name, json.dumps(plain))


def _plain(value: Fact, places: Mapping[str, str]) -> int | float | str:
    if isinstance(value, Dim):
        rows = [(places[s.name], *s.bounds) for s in symbols(value)]
        text = re.sub(r"[A-Za-z_]\w*", lambda m: places.get(m[0], m[0]), str(value))
        return f"{text} for " + ", ".join(f"{n} in {low}..{high}" for n, low, high in sorted(rows))
    if isinstance(value, bool):
        return int(value)
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, slots=True)
class Figures:
    """Costs of a call's kernels.

    Attributes
    ----------
    costs : tuple of float or None
        For each kernel in the order in which they were given; None where nothing is known, or the
        kernel is refused.
    unit : str
        Of the costs: ``instructions`` or ``ns``.
    wanted : int or None
        The kernel that is taken whatever it costs: while tuning, the one that is being measured.
    """

    costs: tuple[float | None, ...]
    unit: str
    wanted: int | None = None


class Candidate(Protocol):
    """A kernel that may serve a call: one of a file with its settings, or a generated one.

    Attributes
    ----------
    stem : str
        Its name in records, with `settings`.
    settings : tuple of (name, value)
    candidate : str
        Both as one text.
    exact : bool
    optimize : tuple of str
        The modes of ``--optimize`` that may take it.
    """

    @property
    def stem(self) -> str: ...

    @property
    def settings(self) -> tuple[tuple[str, int], ...]: ...

    @property
    def candidate(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    @property
    def optimize(self) -> tuple[str, ...]: ...

    def signature(self, facts: Facts) -> tuple[str, tuple[str, ...]]:
        """Symbol and attributes of a program's call."""
        ...

    def sources(self) -> str:
        """The C text that the kernel is compiled from, without headers."""
        ...


T = TypeVar("T", bound=Candidate)


class Knowledge(Protocol):
    """A source of costs.

    Attributes
    ----------
    is_trial : bool
        Whether each call gets the instance that it would have alone, so that its cost is its own.
    """

    is_trial: ClassVar[bool]

    def knows(self, task: Task) -> bool:
        """Whether `figures` may say anything: where candidates are costly to make."""
        ...

    def figures(self, task: Task, facts: Facts, kernels: Sequence[Candidate]) -> Figures | None:
        """Costs of the `kernels` that can serve a call, or None.

        The first is the kernel that is taken without knowledge, as far as one call alone can say.
        """
        ...


_KNOWLEDGE: ContextVar[Knowledge | None] = ContextVar("tvm_megcc.knowledge", default=None)


@contextmanager
def applied(knowledge: Knowledge | None) -> Iterator[None]:
    """Let `knowledge` choose the kernels of models compiled within the block; None: nothing."""
    token = _KNOWLEDGE.set(knowledge)
    try:
        yield
    finally:
        _KNOWLEDGE.reset(token)


def current() -> Knowledge | None:
    """The knowledge of the innermost `applied` block, or None."""
    return _KNOWLEDGE.get()


def best(known: Knowledge, task: Task, facts: Facts, candidates: Sequence[T]) -> T:
    """The candidate of least cost; the first where its own cost is not known."""
    figures = known.figures(task, facts, candidates)
    if figures is None:
        return candidates[0]
    if figures.wanted is not None:
        return candidates[figures.wanted]
    rows = [(cost, k) for k, cost in enumerate(figures.costs) if cost is not None]
    if figures.costs[0] is None:
        return candidates[0]
    return candidates[min(rows)[1]]
