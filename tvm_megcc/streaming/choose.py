"""Where groups begin and end, and how many rows a band has.

Runs of calls around the peak of live bytes are tried as groups, then runs around the peak that is
left, until none lowers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest

from tvm_megcc.core.program import Call, Port, Program, Step, operands_of
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.streaming.line_buffers import Fed, Group, group_of, looped, with_line_buffer
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
    how: Stream,
    program: Program,
    forwarded: Forward,
    pressure: Pressure,
    goal: int = 0,
    is_fed: bool = False,
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
    is_fed : bool
        Whether an input's image comes in by rows, so that no memory holds it whole.

    Raises
    ------
    UnsupportedError
        No input's image can come in by rows.
    """
    if is_fed:
        _check_fed(program)
    elif how == "off" or program.symbols:
        return program
    rules = Rules()
    # A group that is best for one peak may be in the way of those for the next ones.
    searches = [
        _Search(bands, forwarded, pressure, goal, rules)
        for bands in (((how,),) if isinstance(how, int) else (BANDS, BANDS[:1]))
    ]
    found = [search.run(search.fed(program) if is_fed else program) for search in searches]
    if len(found) == 1:
        return found[0]
    return min(found, key=lambda trial: max(goal, *pressure(forwarded(trial)), 0))


def _check_fed(program: Program) -> None:
    """Refuse programs of which no input can come in by rows, before kernels are asked."""
    if program.symbols:
        names = ", ".join(symbol.name for symbol in program.symbols)
        raise UnsupportedError(
            f"model '{program.name}': an image comes in by rows where its size is fixed, and"
            f" {names} is not; give --input-shapes, or leave out --io stream"
        )


def _refused(program: Program, port: Port, fact: str) -> UnsupportedError:
    return UnsupportedError(
        f"model '{program.name}': input '{port.name}' cannot come in by rows, as {fact}"
    )


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

    def fed(self, program: Program) -> Program:
        """The program with a group that begins where an input is read, whose rows come in."""
        refusals = []
        for port in program.inputs:
            try:
                return self._fed(program, port)
            except UnsupportedError as error:
                refusals.append(error)
        if not refusals:
            raise UnsupportedError(
                f"model '{program.name}' has no input whose rows could come in; leave out"
                " --io stream"
            )
        raise refusals[0]

    def _fed(self, program: Program, port: Port) -> Program:
        tensor = program.tensors[port.tensor]
        if len(tensor.shape) == 4 and tensor.shape[0] != 1:
            raise _refused(
                program,
                port,
                f"it is {tensor.shape[0]} images; compile for one (--input-shapes)",
            )
        split, fed = with_line_buffer(program, port)
        readers = [
            number
            for number, step in enumerate(split.calls)
            if any(_lies_in(split, t, fed.storage) for t in operands_of(step))
        ]
        if not readers or any(p.tensor == port.tensor for p in program.outputs):
            raise _refused(program, port, "no call reads it; leave out --io stream")
        runs = [(readers[0], last) for last in range(readers[-1] + 1, len(split.calls) + 1)]
        found = self._least(self._promising(split, runs, fed))
        if found is None:
            raise _refused(program, port, self._obstacle(split, readers))
        return found

    def _obstacle(self, program: Program, readers: Sequence[int]) -> str:
        """Why the readers of an image are no group, and what to do about it."""
        steps = range(readers[0], readers[-1] + 1)
        at = next((n for n in steps if not self._can(program, n)), None)
        if at is None or at in readers:
            reader = program.calls[readers[0] if at is None else at]
            return (
                f"{_node(reader)} reads it otherwise than row by row; give the model an image whose"
                " channels are last, or leave out --io stream"
            )
        return (
            f"{_node(program.calls[readers[-1]])} reads it after {_node(program.calls[at])}, which"
            " is not done row by row; leave out --io stream"
        )

    def _least(self, groups: Iterable[Group]) -> Program | None:
        """The program with one of these groups, of the least peak."""
        trials = (looped(group, band) for group in groups for band in self.bands)
        found = [trial for trial in trials if trial is not None]
        return min(found, key=lambda t: max(self.pressure(self.forwarded(t))), default=None)

    def better(self, program: Program) -> Program | None:
        """The program with one more group, of all that lower the peak that which does so most."""
        planned = self.forwarded(program)
        live = self.pressure(planned)
        worst = max(live, default=0)
        if worst <= self.goal:
            return None
        found, least = None, (worst, 0)
        peak = _same_call(planned, live.index(worst), program) if live else None
        runs = [] if peak is None else self._runs(program, peak)
        for group in self._promising(program, runs):
            for band in self.bands:
                trial = looped(group, band)
                if trial is not None:
                    reached = max(self.pressure(self.forwarded(trial)))
                    measure = max(reached, self.goal), -band
                    if measure < least:
                        found, least = trial, measure
        return found

    def _promising(
        self, program: Program, runs: Iterable[tuple[int, int]], fed: Fed | None = None
    ) -> list[Group]:
        """Runs that are groups, those whose largest step is least first."""
        found: list[tuple[int, int, Group]] = []
        for first, last in runs:
            group = group_of(program, first, last, self.rules, fed)
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


def _node(step: Step) -> str:
    """The model's node that a step computes, or the name of its result."""
    nodes = step.nodes if isinstance(step, Call) else ()
    return nodes[0] if nodes else f"'{step.name}'"


def _lies_in(program: Program, tensor: int, storage: int) -> bool:
    at = program.tensors[tensor].location
    return at.space == "arena" and at.index == storage


def _same_call(program: Program, step: int, other: Program) -> int | None:
    """The step of another stage of the program that makes the same tensors, if there is one."""
    call = program.calls[step]
    if not isinstance(call, Call):
        return None
    places = (
        n for n, c in enumerate(other.calls) if isinstance(c, Call) and c.writes == call.writes
    )
    return next(places, None)
