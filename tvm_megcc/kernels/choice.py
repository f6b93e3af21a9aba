"""Choose between kernels of equal rank for each call of a model, by their costs.

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

Where it is known which kernels read weights that are packed alike, calls with equal weights may get
different kernels, each packing being paid for once:

>>> short = Call("w", (Cost(90, 100, 0), Cost(80, 100, 0)), ("panels", "panels"))
>>> long = Call("w", (Cost(900, 100, 0), Cost(990, 100, 0)), ("panels", "panels"))
>>> choose([short, long], 0)
[1, 0]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one call by one kernel.

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
    packings : tuple of hashable
        By kernel: equal where they read equal weights in the same form. Empty: kernels are not
        mixed among calls with equal weights.
    """

    weights: Hashable
    costs: tuple[Cost, ...]
    packings: tuple[Hashable, ...] = ()


@dataclass(frozen=True, slots=True)
class _Way:
    """Kernels for calls with equal weights, and what they cost together."""

    cost: Cost
    kernels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """A group's change to other kernels: bytes that it adds, instructions that it saves."""

    group: int
    to: int
    bytes: int
    saved: int


Worth = tuple[int, Fraction, int]


def choose(calls: Sequence[Call], budget: int | None) -> list[int]:
    """The number of the kernel for each call.

    `budget` is the bytes by which all weights together may grow; None: any.
    """
    groups = _groups(calls)
    ways = [_ways([calls[k] for k in group]) for group in groups]
    rows = [[way.cost for way in group] for group in ways]
    spent = [_spent(rows, budget, worth) for worth in (_saved_per_byte, _saved)]
    chosen = min(
        spent,
        key=lambda found: sum(row[k].instructions for row, k in zip(rows, found, strict=True)),
    )
    result = [0] * len(calls)
    for group, found, number in zip(groups, ways, chosen, strict=True):
        for k, kernel in zip(group, found[number].kernels, strict=True):
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
    """The calls that have equal weights and, where kernels are not mixed, as many kernels."""
    mixed = {call.weights for call in calls if call.packings}
    found: dict[Hashable, list[int]] = {}
    for k, call in enumerate(calls):
        count = 0 if call.weights in mixed else len(call.costs)
        found.setdefault((call.weights, count), []).append(k)
    return list(found.values())


def _ways(calls: Sequence[Call]) -> list[_Way]:
    """Kernels for calls with equal weights; first those when nothing is spent."""
    if not any(call.packings for call in calls):
        rows = zip(*(call.costs for call in calls), strict=True)
        return [_Way(_together(row), (k,) * len(calls)) for k, row in enumerate(rows)]
    # A call without packings keeps its first kernel, whose weights are nobody else's.
    forms = [call.packings or (object(),) for call in calls]
    every = list(dict.fromkeys(form for row in forms for form in row))
    ways = [_way(calls, forms, (0,) * len(calls))]
    own = {
        form for call, row in zip(calls, forms, strict=True) if not call.packings for form in row
    }
    kept = [form for form in every if form not in own]
    for count in (1, 2):
        for some in combinations(kept, count):
            found = [
                _best(call, [k for k, form in enumerate(row) if form in {*some, *own}])
                for call, row in zip(calls, forms, strict=True)
            ]
            if None not in found:
                ways.append(_way(calls, forms, tuple(k for k in found if k is not None)))
    return ways


def _best(call: Call, kernels: Sequence[int]) -> int | None:
    """The allowed kernel of the fewest instructions, or None."""
    allowed = [k for k in kernels if k == 0 or call.costs[k].allowed]
    return min(allowed, key=lambda k: (call.costs[k].instructions, k), default=None)


def _way(
    calls: Sequence[Call], forms: Sequence[Sequence[Hashable]], kernels: tuple[int, ...]
) -> _Way:
    """These kernels for the calls: each form of the weights is there once."""
    costs = [call.costs[k] for call, k in zip(calls, kernels, strict=True)]
    weights = {row[k]: c.weights for row, k, c in zip(forms, kernels, costs, strict=True)}
    together = _together(costs)
    return _Way(replace(together, weights=sum(weights.values()), allowed=True), kernels)


def _together(costs: Sequence[Cost]) -> Cost:
    """Cost of calls that share their weights."""
    return Cost(
        sum(c.instructions for c in costs),
        max(c.weights for c in costs),
        max(c.workspace for c in costs),
        all(c.allowed for c in costs),
    )


def _steps(group: int, row: Sequence[Cost], now: int, left: int | None) -> Iterator[_Step]:
    """The kernels that take fewer instructions than the present one and whose weights fit."""
    for to, cost in enumerate(row):
        more = cost.weights - row[now].weights
        saved = row[now].instructions - cost.instructions
        if cost.allowed and saved > 0 and (left is None or more <= left):
            yield _Step(group, to, more, saved)


def _saved_per_byte(step: _Step) -> Worth:
    """Steps that add no bytes come first; of equal worth, the one that saves more."""
    if step.bytes <= 0:
        return 1, Fraction(step.saved), step.saved
    return 0, Fraction(step.saved, step.bytes), step.saved


def _saved(step: _Step) -> Worth:
    return 0, Fraction(step.saved), -step.bytes
