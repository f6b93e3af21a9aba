"""Between kernels of equal rank: which one serves each call of a model, by what they cost.

Enters: the calls that have a choice, each with what its kernels cost, and what the user prefers.
Leaves: a kernel for each. Calls with equal weights get the same kernel, so that the weights are
there once.

A budget of bytes is spent greedily: every call begins with its exact kernel, and of all steps to
another one that fits, that of most instructions saved per byte is taken first (the relaxed
knapsack's solution, but for the last steps; Sinha and Zoltners, "The Multiple-Choice Knapsack
Problem", 1979). Or that of most instructions saved, where this saves more in the end.

Example
-------
>>> calls = [Call("w", (Cost(900, 100, 0), Cost(400, 200, 0), Cost(300, 700, 0)))]
>>> choose(calls, 150), choose(calls, None), choose(calls, 0)
([1], [2], [0])
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one call by one kernel.

    Attributes
    ----------
    instructions : int
        Of the whole call.
    weights : int
        Bytes of its packed constants.
    workspace : int
        Bytes.
    allowed : bool
        Whether the kernel may be taken at all.
    """

    instructions: int
    weights: int
    workspace: int
    allowed: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """A call that several kernels serve.

    Attributes
    ----------
    weights : hashable
        Equal where calls have equal weights.
    costs : tuple of Cost
        By kernel. The first is what is taken when nothing is spent.
    """

    weights: Hashable
    costs: tuple[Cost, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """A group's way from one kernel to another: what it adds and what it saves."""

    group: int
    to: int
    bytes: int
    saved: int


Worth = tuple[int, Fraction, int]


def choose(calls: Sequence[Call], budget: int | None) -> list[int]:
    """The number of the kernel for each call.

    Parameters
    ----------
    calls : sequence of Call
    budget : int or None
        Bytes by which all weights together may grow; None: without bound.
    """
    groups = _groups(calls)
    rows = [_together([calls[k] for k in group]) for group in groups]
    spent = [_spent(rows, budget, worth) for worth in (_saved_per_byte, _saved)]
    chosen = min(
        spent,
        key=lambda found: sum(row[k].instructions for row, k in zip(rows, found, strict=True)),
    )
    result = [0] * len(calls)
    for group, kernel in zip(groups, chosen, strict=True):
        for k in group:
            result[k] = kernel
    return result


def _spent(
    rows: Sequence[Sequence[Cost]], budget: int | None, worth: Callable[[_Step], Worth]
) -> list[int]:
    """The kernel of each row when the step of most worth is taken first."""
    chosen = [0] * len(rows)
    left = budget
    while steps := [s for k, row in enumerate(rows) for s in _steps(k, row, chosen[k], left)]:
        step = max(steps, key=lambda s: (worth(s), -s.group, -s.to))
        chosen[step.group] = step.to
        left = None if left is None else left - step.bytes
    return chosen


def _groups(calls: Sequence[Call]) -> list[list[int]]:
    """The calls that have equal weights and as many kernels."""
    found: dict[Hashable, list[int]] = {}
    for k, call in enumerate(calls):
        found.setdefault((call.weights, len(call.costs)), []).append(k)
    return list(found.values())


def _together(calls: Sequence[Call]) -> list[Cost]:
    """What each kernel costs for calls that share their weights."""
    return [
        Cost(
            sum(c.instructions for c in costs),
            max(c.weights for c in costs),
            max(c.workspace for c in costs),
            all(c.allowed for c in costs),
        )
        for costs in zip(*(call.costs for call in calls), strict=True)
    ]


def _steps(group: int, row: Sequence[Cost], now: int, left: int | None) -> Iterator[_Step]:
    """The kernels that take fewer instructions than the present one and whose weights fit."""
    for to, cost in enumerate(row):
        more = cost.weights - row[now].weights
        saved = row[now].instructions - cost.instructions
        if cost.allowed and saved > 0 and (left is None or more <= left):
            yield _Step(group, to, more, saved)


def _saved_per_byte(step: _Step) -> Worth:
    """What adds no bytes comes first; of equal worth is what saves more."""
    if step.bytes <= 0:
        return 1, Fraction(step.saved), step.saved
    return 0, Fraction(step.saved, step.bytes), step.saved


def _saved(step: _Step) -> Worth:
    return 0, Fraction(step.saved), -step.bytes
