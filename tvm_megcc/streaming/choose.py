"""Where groups begin and end, and how many rows a band has.

Runs of calls around the peak of live bytes are tried as groups, then runs around the peak that is
left, until none lowers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import nsmallest

from tvm_megcc.core.program import Call, Program
from tvm_megcc.streaming.line_buffers import Group, group_of, looped
from tvm_megcc.streaming.row_rules import Rules

#: ``auto``: the least arena; ``off``; a number: so many rows a band.
Stream = str | int

#: Rows of a band that are tried, of the group's last result.
BANDS = (1, 2, 4, 8)

#: Groups that are tried with all forwarding, of those whose largest step is least without.
TRIALS = 12

#: Bytes that are live during each step of a program.
Pressure = Callable[[Program], list[int]]

#: A program after all forwarding.
Forward = Callable[[Program], Program]


def streamed(
    how: Stream, program: Program, forwarded: Forward, pressure: Pressure, goal: int = 0
) -> Program:
    """`program` with its largest tensors in line buffers, where that lowers the arena.

    Parameters
    ----------
    how : {"off", "auto"} or int
    program : Program
        Without addresses, each value in a storage of its own.
    forwarded : callable
        The program as it will be planned.
    pressure : callable
        Bytes that are live during each step.
    goal : int
        Bytes that are low enough: the search ends there, and larger bands, which take fewer
        instructions, are preferred among those that are as low.
    """
    if how == "off" or program.symbols:
        return program
    rules = Rules()
    # A group that is best for one peak may be in the way of those for the next ones.
    searches = [
        _Search(bands, forwarded, pressure, goal, rules)
        for bands in ((BANDS, BANDS[:1]) if how == "auto" else ((int(how),),))
    ]
    found = [search.run(program) for search in searches]
    return min(found, key=lambda trial: max(goal, *pressure(forwarded(trial)), 0))


class _Search:
    """Groups of one program, tried one after the other."""

    def __init__(
        self,
        bands: Sequence[int],
        forwarded: Forward,
        pressure: Pressure,
        goal: int,
        rules: Rules,
    ) -> None:
        self.bands, self.goal, self.rules = bands, goal, rules
        self.forwarded, self.pressure = forwarded, pressure

    def run(self, program: Program) -> Program:
        """The program with groups until none lowers the peak."""
        while (better := self.better(program)) is not None:
            program = better
        return program

    def better(self, program: Program) -> Program | None:
        """The program with one more group, of all that lower the peak that which does so most."""
        planned = self.forwarded(program)
        live = self.pressure(planned)
        worst = max(live, default=0)
        if worst <= self.goal:
            return None
        found, least = None, (worst, 0)
        peak = _same_call(planned, live.index(worst), program) if live else None
        for group in [] if peak is None else self._promising(program, peak):
            for band in self.bands:
                trial = looped(group, band)
                if trial is not None:
                    reached = max(self.pressure(self.forwarded(trial)))
                    measure = max(reached, self.goal), -band
                    if measure < least:
                        found, least = trial, measure
        return found

    def _promising(self, program: Program, peak: int) -> list[Group]:
        """Groups around a step, those whose largest step is least first."""
        found: list[tuple[int, int, Group]] = []
        for first, last in self._runs(program, peak):
            group = group_of(program, first, last, self.rules)
            trial = None if group is None else looped(group, self.bands[0])
            if group is not None and trial is not None:
                found.append((max(self.pressure(trial)), len(found), group))
        return [group for _, _, group in nsmallest(TRIALS, found)]

    def _runs(self, program: Program, peak: int) -> Iterator[tuple[int, int]]:
        """Runs of at least two calls around a step that can be done by bands."""
        first = last = peak
        while first > 0 and self._can(program, first - 1):
            first -= 1
        while last < len(program.calls) and self._can(program, last):
            last += 1
        for begin in range(first, peak + 1):
            for end in range(max(peak + 1, begin + 2), last + 1):
                yield begin, end

    def _can(self, program: Program, step: int) -> bool:
        call = program.calls[step]
        return isinstance(call, Call) and group_of(program, step, step + 1, self.rules) is not None


def _same_call(program: Program, step: int, other: Program) -> int | None:
    """The step of another stage of the program that makes the same tensors, if there is one."""
    call = program.calls[step]
    if not isinstance(call, Call):
        return None
    places = (
        n for n, c in enumerate(other.calls) if isinstance(c, Call) and c.writes == call.writes
    )
    return next(places, None)
