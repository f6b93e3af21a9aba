"""Memory planning as a pure problem: ``Problem -> Solution``, and an independent validator.

A problem is a list of blocks with half-open liveness intervals ``[first, last)`` in instruction
order; a solution gives each an offset. Two blocks that are live at once must not share bytes.

Example
-------
>>> p = Problem((Interval("a", 0, 2, 100), Interval("b", 1, 3, 50)))
>>> validate(p, Solution((0, 128), 178, "by hand"))
>>> lower_bound(p)
178
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm_megcc.program import ALIGNMENT


@dataclass(frozen=True, slots=True)
class Interval:
    """A block of `size` bytes, live during instructions ``first <= i < last``."""

    name: str
    first: int
    last: int
    size: int
    alignment: int = ALIGNMENT


@dataclass(frozen=True, slots=True)
class Problem:
    """Blocks to place in one arena."""

    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class Solution:
    """An offset per interval (bytes, in the problem's order), and the arena they need."""

    offsets: tuple[int, ...]
    arena_bytes: int
    planner: str


def align(value: int, alignment: int) -> int:
    """The smallest multiple of `alignment` that is at least `value`."""
    return -(-value // alignment) * alignment


def lower_bound(problem: Problem) -> int:
    """Bytes below which no plan can go: the peak of live bytes.

    Blocks of one alignment stand at its multiples, so at each moment all but the last of the live
    blocks fill whole multiples of the smallest alignment among them.
    """
    events = sorted({i.first for i in problem.intervals if i.size and i.first < i.last})
    peak = 0
    for step in events:
        live = [i for i in problem.intervals if i.first <= step < i.last and i.size]
        unit = min(i.alignment for i in live)
        slack = max(align(i.size, unit) - i.size for i in live)
        peak = max(peak, sum(align(i.size, unit) for i in live) - slack)
    return peak


def validate(problem: Problem, solution: Solution) -> None:
    """Check a solution without trusting the planner.

    Raises
    ------
    ValueError
        When a block is misaligned or outside the arena, or two live blocks share bytes.
    """
    if len(solution.offsets) != len(problem.intervals):
        raise ValueError(f"{len(problem.intervals)} intervals, {len(solution.offsets)} offsets")
    placed = []
    for interval, offset in zip(problem.intervals, solution.offsets, strict=True):
        if offset < 0 or offset % interval.alignment:
            raise ValueError(f"{interval.name}: offset {offset} is not a multiple of its alignment")
        if not interval.size or interval.first >= interval.last:
            continue  # never live: its address is never used
        if offset + interval.size > solution.arena_bytes:
            raise ValueError(f"{interval.name}: ends outside the arena")
        placed.append((interval.first, offset, interval))
    placed.sort(key=lambda row: (row[0], row[1]))
    live: list[tuple[int, Interval]] = []
    for first, offset, interval in placed:
        live = [(o, i) for o, i in live if i.last > first]
        for other_offset, other in live:
            if offset < other_offset + other.size and other_offset < offset + interval.size:
                raise ValueError(f"{interval.name} and {other.name} are live at once and overlap")
        live.append((offset, interval))
