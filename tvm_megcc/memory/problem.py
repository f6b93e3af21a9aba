"""Memory planning as a pure problem: ``Problem -> Solution``, and an independent validator.

A problem is a list of blocks with half-open liveness intervals ``[first, last)`` in instruction
order; a solution gives each an offset. Two blocks that are live at once must not share bytes.
Tensors that share a storage (views, in place) are one block: who builds the problem merges them.

Example
-------
>>> p = Problem((Interval("a", 0, 2, 100), Interval("b", 1, 3, 50)))
>>> validate(p, Solution((0, 128), 178, "by hand"))
>>> lower_bound(p)
164
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import groupby
from math import gcd
from pathlib import Path

from tvm_megcc.errors import InputError
from tvm_megcc.memory import csv_form
from tvm_megcc.memory.block import Interval, align

#: A key to sort by, its last part the number of a block.
Row = tuple[int, int, int]
#: A step, 1 if a row comes to life there and 0 if it dies, the row.
Event = tuple[int, int, Row]


@dataclass(frozen=True, slots=True)
class Problem:
    """Blocks to place in one arena."""

    intervals: tuple[Interval, ...]

    @classmethod
    def from_csv(cls, path: str | Path) -> Problem:
        """Read and check the MiniMalloc CSV form; see `tvm_megcc.memory.csv_form`.

        Raises
        ------
        InputError
            When the file cannot be read or is not of this form (the message names the line), or
            holds what no plan can satisfy.
        """
        problem = cls(csv_form.read(path))
        try:
            problem.check()
        except InputError as error:
            raise InputError(f"'{path}': {error}") from error
        return problem

    def to_csv(self) -> str:
        """The problem as text in the MiniMalloc CSV form, without columns of defaults."""
        return csv_form.text_of(self.intervals, [block.offset for block in self.intervals])

    def check(self) -> None:
        """Refuse what no plan can satisfy.

        Raises
        ------
        InputError
            For a negative size, an alignment below 1, a window outside its block, a fixed offset
            that is negative or misaligned, or two fixed blocks that overlap.
        """
        for block in self.intervals:
            if fault := _fault(block):
                raise InputError(f"block '{block.name}': {fault}")
        fixed = tuple(b for b in self.intervals if b.offset is not None and b.is_live)
        if pair := _overlap(fixed, [b.offset or 0 for b in fixed]):
            raise InputError(
                f"blocks '{pair[0]}' and '{pair[1]}' are fixed where they overlap while both are"
                " live; move or free one of them"
            )


@dataclass(frozen=True, slots=True)
class Solution:
    """An offset per interval (bytes, in the problem's order), and the arena they need.

    Attributes
    ----------
    planner : str
        Which planner found it.
    lower_bound : int
        `lower_bound` of the problem.
    optimal : bool
        No plan can be smaller: the arena equals the lower bound, or an exhaustive search says so.
    """

    offsets: tuple[int, ...]
    arena_bytes: int
    planner: str
    lower_bound: int = 0
    optimal: bool = False

    @property
    def ratio(self) -> float:
        """Arena over lower bound, 1.0 for an empty problem."""
        return self.arena_bytes / self.lower_bound if self.lower_bound else 1.0

    def to_csv(self, problem: Problem) -> str:
        """`problem` with a column of offsets, in the MiniMalloc CSV form, as text."""
        return csv_form.text_of(problem.intervals, self.offsets)


def lower_bound(problem: Problem) -> int:
    """Bytes below which no plan can go: the peak of live bytes, alignment counted.

    Blocks start at multiples of the common divisor of the alignments of those that are live, so all
    but the last of them fill whole multiples of it. A fixed block also holds its own end.
    """
    return peak(problem)[1]


def peak_step(problem: Problem) -> int:
    """The first instruction at which the lower bound is reached (0 for an empty problem)."""
    return peak(problem)[0]


def peak(problem: Problem) -> tuple[int, int]:
    """(instruction, bytes) of the first moment at which most bytes are live."""
    return max(live_bytes(problem), key=lambda row: (row[1], -row[0]), default=(0, 0))


def names_at(problem: Problem, step: int) -> tuple[str, ...]:
    """The names of the blocks that are live at an instruction, largest first."""
    live = (b for b in problem.intervals if b.is_live and b.first <= step < b.last)
    return tuple(b.name for b in sorted(live, key=lambda b: -b.size))


def live_bytes(problem: Problem) -> Iterator[tuple[int, int]]:
    """(step, bytes that any plan needs during it) at each step where a block comes to life.

    O(n log n) for a fixed number of different alignments.
    """
    rows: list[tuple[int, int, int, int]] = []  # step, end, bytes, alignment of the piece's start
    fixed: dict[int, int] = {}
    for block in problem.intervals:
        for piece in block.pieces() if block.is_live else ():
            unit = gcd(block.alignment, piece.lo)
            rows.append((piece.first, piece.last, piece.hi - piece.lo, unit))
            if block.offset is not None:
                end = block.offset + piece.hi
                fixed[piece.first] = max(fixed.get(piece.first, 0), end)
    rows.sort()
    sweep = _Sweep({row[3] for row in rows})
    for step, group in groupby(rows, key=lambda row: row[0]):
        sweep.retire(step)
        for _, end, size, unit in group:
            sweep.add(end, size, unit)
        yield step, max(sweep.need(), fixed.get(step, 0))


class _Sweep:
    """The live pieces at a moment: their aligned sum and largest slack, per unit of alignment."""

    def __init__(self, units: set[int]) -> None:
        closure = set(units)
        for unit in sorted(units):
            closure |= {gcd(unit, other) for other in closure}
        if len(closure) > 64:  # unheard of; one common unit keeps the sweep linear
            closure = {gcd(*units)}
        self._sums = dict.fromkeys(sorted(closure), 0)
        self._slacks: dict[int, list[tuple[int, int]]] = {unit: [] for unit in self._sums}
        self._alignments: Counter[int] = Counter()
        self._ends: list[tuple[int, int, int]] = []
        self._step = 0

    def add(self, end: int, size: int, unit: int) -> None:
        heappush(self._ends, (end, size, unit))
        self._alignments[unit] += 1
        for u in self._sums:
            whole = align(size, u)
            self._sums[u] += whole
            heappush(self._slacks[u], (size - whole, end))

    def retire(self, step: int) -> None:
        self._step = step
        while self._ends and self._ends[0][0] <= step:
            _, size, unit = heappop(self._ends)
            self._alignments[unit] -= 1
            if not self._alignments[unit]:
                del self._alignments[unit]
            for u in self._sums:
                self._sums[u] -= align(size, u)

    def need(self) -> int:
        unit = gcd(*self._alignments)
        if unit not in self._sums:
            unit = next(iter(self._sums))
        heap = self._slacks[unit]
        while heap[0][1] <= self._step:
            heappop(heap)
        return self._sums[unit] + heap[0][0]


def validate(problem: Problem, solution: Solution) -> None:
    """Check a solution without trusting the planner.

    Raises
    ------
    ValueError
        When a block is misaligned, moved from its fixed offset or outside the arena, or two blocks
        share bytes that are live at once.
    """
    if len(solution.offsets) != len(problem.intervals):
        raise ValueError(f"{len(problem.intervals)} intervals, {len(solution.offsets)} offsets")
    for block, offset in zip(problem.intervals, solution.offsets, strict=True):
        if offset < 0 or offset % block.alignment:
            raise ValueError(f"{block.name}: offset {offset} is not a multiple of its alignment")
        if block.offset is not None and offset != block.offset:
            raise ValueError(f"{block.name}: offset {offset}, but it is fixed at {block.offset}")
        if block.is_live and offset + block.size > solution.arena_bytes:
            raise ValueError(f"{block.name}: ends outside the arena")
    if pair := _overlap(problem.intervals, solution.offsets):
        raise ValueError(f"{pair[0]} and {pair[1]} are live at once and overlap")


def _fault(block: Interval) -> str | None:
    if block.size < 0:
        return f"size {block.size} is negative"
    if block.alignment < 1:
        return f"alignment {block.alignment}; use 1 or more"
    if block.offset is not None and (block.offset < 0 or block.offset % block.alignment):
        return f"fixed offset {block.offset} is not a multiple of its alignment {block.alignment}"
    for gap in block.gaps:
        if gap.window is not None and not 0 <= gap.window[0] <= gap.window[1] <= block.size:
            return f"window {gap.window[0]}:{gap.window[1]} is outside its {block.size} bytes"
    spans = sorted((gap.first, gap.last) for gap in block.gaps)
    if any(a[1] > b[0] for a, b in zip(spans, spans[1:], strict=False)):
        return "two of its gaps overlap in time"
    return None


def _overlap(
    intervals: tuple[Interval, ...], offsets: tuple[int, ...] | list[int]
) -> tuple[str, str] | None:
    """Names of two blocks that share a byte while both are live: a sweep over time.

    At any time the live pieces, kept by address, must be disjoint; so a new piece needs only be
    compared with its two neighbours.
    """
    events: list[Event] = []  # rows are address, end, block
    for index, (block, offset) in enumerate(zip(intervals, offsets, strict=True)):
        for piece in block.pieces() if block.is_live else ():
            if piece.lo < piece.hi:
                span = (offset + piece.lo, offset + piece.hi, index)
                events += [(piece.first, 1, span), (piece.last, 0, span)]
    for live, at, row in starting(events):
        for near in live[max(at - 1, 0) : at + 1]:
            if near[0] < row[1] and row[0] < near[1]:
                return intervals[row[2]].name, intervals[near[2]].name
    return None


def starting(events: Iterable[Event]) -> Iterator[tuple[list[Row], int, Row]]:
    """Each row that comes to life: the rows that live then, sorted, its place in them, itself."""
    live: list[Row] = []
    for _, starts, row in sorted(events):
        at = bisect_left(live, row)
        if starts:
            yield live, at, row
            live.insert(at, row)
        else:
            del live[at]
