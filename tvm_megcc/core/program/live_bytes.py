"""Parts of storages that are live, where a result of a loop lies over an image that it reads.

Before the loop, such a storage holds the image alone, whose bytes are fewer than the storage's.

Enters: a program whose storages are shared. Leaves: for such storages, steps and the bytes that are
live during them. What is live at a step was written by tensors that steps up to it touch, and is
read by tensors that steps from it on touch: both say where it lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import cast

from tvm_megcc.core.program.liveness import loops
from tvm_megcc.core.program.program import Program
from tvm_megcc.core.program.steps import Loop, operands_of
from tvm_megcc.core.program.tensors import Tensor


@dataclass(frozen=True, slots=True)
class LiveBytes:
    """Bytes ``[lo, hi)`` of a storage are live during steps ``first <= step < last``."""

    first: int
    last: int
    lo: int
    hi: int


def touches(program: Program) -> dict[int, tuple[int, int]]:
    """First and last step that touch each tensor; in a loop, all of it."""
    found: dict[int, tuple[int, int]] = {}
    for number, step in enumerate(program.calls):
        for tensor in operands_of(step):
            first, _ = found.get(tensor, (number, number))
            found[tensor] = first, number
    for begin, end in loops(program):
        for tensor, (first, last) in found.items():
            if first <= end and last >= begin:
                found[tensor] = min(first, begin), max(last, end)
    return found


def shared_by_loops(program: Program, tensors: Sequence[Tensor]) -> set[int]:
    """Storages in which a loop's result lies over an image that the loop reads."""
    pairs = ([tensors[t].location for t in s.over] for s in program.calls if isinstance(s, Loop))
    return {
        pair[0].index
        for pair in pairs
        if pair and pair[0].index == pair[1].index and {at.space for at in pair} == {"arena"}
    }


def live_parts(
    tensors: Sequence[Tensor],
    members: Iterable[int],
    touched: Mapping[int, tuple[int, int]],
    span: tuple[int, int],
) -> list[LiveBytes]:
    """Steps of a storage's `span`, first and last, during which less than all of it is live.

    `members` are its tensors, `touched` what `touches` found.
    """
    rows = []
    for member in members:
        if member in touched:
            lo = cast(int, tensors[member].location.offset)
            rows.append((*touched[member], lo, lo + cast(int, tensors[member].nbytes)))
    whole = max((hi for *_, hi in rows), default=0)
    parts: list[tuple[int, tuple[int, int]]] = []
    for step in range(span[0], span[1] + 1):
        written = [row for row in rows if row[0] <= step]
        read = [row for row in rows if row[1] >= step]
        lo = max(min((row[2] for row in side), default=0) for side in (written, read))
        hi = min(max((row[3] for row in side), default=0) for side in (written, read))
        parts.append((step, (lo, max(lo, hi))))
    found = []
    for (lo, hi), group in groupby(parts, key=lambda part: part[1]):
        steps = [step for step, _ in group]
        if (lo, hi) != (0, whole):
            found.append(LiveBytes(steps[0], steps[-1] + 1, lo, hi))
    return found
