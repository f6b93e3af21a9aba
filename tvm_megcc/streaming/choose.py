"""Where groups begin and end, and how many rows a band has.

Runs of calls around the peak of live bytes are tried as groups, then runs around the peak that is
left, until none lowers it. Then groups get larger bands, or are whole again, where that does not
raise the peak: bands take instructions.

Where sizes follow from the shapes, the search is that of a program for usual sizes, or for the
largest that there are; what it chooses is done for all sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from math import inf
from typing import cast

from tvm_megcc.core.machine import ROWS
from tvm_megcc.core.program import (
    Call,
    Port,
    Program,
    Step,
    largest_sizes,
    live_steps,
    operands_of,
    sized,
    usual_sizes,
)
from tvm_megcc.dims import at as size_at
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.streaming.band_costs import extra_cost, whole_cost
from tvm_megcc.streaming.line_buffers import (
    Fed,
    Group,
    group_of,
    has_bands,
    live_bytes,
    looped,
    with_line_buffer,
)
from tvm_megcc.streaming.planes import by_lines
from tvm_megcc.streaming.row_rules import Rules

#: ``auto``: the least arena; ``off``; a number: so many rows a band.
Stream = str | int

#: Rows of a band that are tried, of the group's last result.
BANDS = (1, 2, 4, 8)

#: Rows of a band that are tried as well for groups that are not at the peak.
LARGER_BANDS = (16, 32)

#: Groups that are tried with all forwarding, of those whose largest step is least without.
TRIALS = 12

#: The part of a program's instructions that bands may take more, and where RAM is scarce.
MOST_EXTRA, MOST_EXTRA_FOR_RAM = 0.03, 0.08

#: Pixels of a side of usual images, at most: for sizes that have no bound.
SIDE = 512

#: Bytes that are live during each step of a program.
Pressure = Callable[[Program], list[int]]

#: Bytes of the arena of a program after all forwarding.
Arena = Callable[[Program], int]

#: A program after all forwarding.
Forward = Callable[[Program], Program]


def streamed(
    how: Stream,
    program: Program,
    forwarded: Forward,
    pressure: Pressure,
    goal: int | None = None,
    is_fed: bool = False,
    arena: Arena | None = None,
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
    goal : int, optional
        Bytes that are low enough: as few more instructions as possible for them, however many.
        Without it, ``auto`` takes the least arena for a few more instructions.
    is_fed : bool
        Whether an input's image comes in by rows, so that no memory holds it whole.
    arena : callable, optional
        Bytes that a plan takes which is found at once. Live bytes are the least that any plan has;
        where storages are live in part, it may have more.

    Raises
    ------
    UnsupportedError
        No input's image can come in by rows.
    """
    if is_fed:
        _check_fed(program)
    elif how == "off":
        return program
    seen = sized(program, _sizes(program)) if program.symbols else program
    budget = inf
    if goal is None and how == "auto":
        scarce = ROWS[program.arch.partition("+")[0]].ram_is_scarce
        budget = (MOST_EXTRA_FOR_RAM if scarce else MOST_EXTRA) * whole_cost(seen)
    aim = _Aim(forwarded, pressure, goal or 0, budget)
    # A group that is best for one peak may be in the way of those for the next ones.
    ways = [(how,)] if isinstance(how, int) else [BANDS, BANDS[:1]]
    if is_fed:
        searches = [_fed_search(program, bands, aim) for bands in ways]
    else:
        runs = _Runs(seen, ways[0][0], program)
        searches = [_Search(runs, bands, aim) for bands in ways]
    trials = [trial for search in searches for trial in search.run()]
    found = _least(trials, aim, arena)
    if seen is program:
        return found.program
    changed = _changed(program, found.choices, Rules())
    assert changed is not None, "_Runs has looked whether each group is one for all sizes"
    return changed


def _sizes(program: Program) -> dict[str, int]:
    """The sizes for which groups are sought: the largest, or of usual images without bounds."""
    largest = largest_sizes(program)
    if largest is not None:
        return largest
    dims = [dim for port in program.inputs for dim in program.tensors[port.tensor].shape]
    by_side = {
        max(size_at(dim, values) for dim in dims): values
        for values in reversed(usual_sizes(program))
    }
    return by_side[max((side for side in by_side if side <= SIDE), default=min(by_side))]


def _changed(program: Program, choices: Sequence[_Choice], rules: Rules) -> Program | None:
    """The program with these groups, in order; None where one of them is none."""
    changed: Program | None = program
    for choice in reversed(choices):  # the steps before it keep their numbers
        assert changed is not None
        group = group_of(changed, choice.first, choice.last, rules, choice.fed)
        changed = None if group is None else looped(group, choice.band)
        if changed is None:
            return None
    return changed


def _least(found: Sequence[_Trial], aim: _Aim, arena: Arena | None) -> _Trial:
    """The trial whose plan takes least."""
    rows = sorted(found, key=aim.measure)
    if arena is None:
        return rows[0]
    best, least = rows[0], (inf, inf)
    for trial in rows:
        if aim.measure(trial) >= least:
            break  # no plan takes less than what is live
        measure = max(arena(trial.planned), aim.goal), trial.extra
        if measure < least:
            best, least = trial, measure
    return best


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


@dataclass(frozen=True, slots=True)
class _Choice:
    """Calls ``[first, last)`` of the program in bands of so many rows."""

    first: int
    last: int
    band: int
    fed: Fed | None = None

    def meets(self, first: int, last: int) -> bool:
        return self.first < last and first < self.last


@dataclass(frozen=True, slots=True)
class _Trial:
    """A program with groups: what is live at its peak, and its instructions for bands."""

    choices: tuple[_Choice, ...]
    program: Program
    planned: Program
    live: list[int]
    extra: float

    @property
    def peak(self) -> int:
        return max(self.live, default=0)


@dataclass(frozen=True, slots=True)
class _Aim:
    """How a program will be planned, and what is wanted of it."""

    forwarded: Forward
    pressure: Pressure
    goal: int
    budget: float  # instructions

    def trial(self, choices: Iterable[_Choice], program: Program) -> _Trial:
        planned = self.forwarded(program)
        live, extra = self.pressure(planned), extra_cost(program)
        return _Trial(tuple(choices), program, planned, live, extra)

    def measure(self, trial: _Trial) -> tuple[int, float]:
        """What is wanted least of, the peak first."""
        return max(trial.peak, self.goal), trial.extra


def _uses(program: Program) -> dict[int, tuple[int, int, int]]:
    """First and last step, and bytes, of each storage that is no port's."""
    ports = {program.tensors[p.tensor].location for p in (*program.inputs, *program.outputs)}
    taken = {at.index for at in ports if at.space == "arena"}
    sizes: dict[int, int] = {}
    for tensor in program.tensors:
        at = tensor.location
        if at.space == "arena" and at.index not in taken:
            end = cast(int, at.offset) + cast(int, tensor.nbytes)
            sizes[at.index] = max(sizes.get(at.index, 0), end)
    live = live_steps(program)
    return {s: (*live[s], size) for s, size in sizes.items() if s in live}


class _Runs:
    """Runs of a program's calls as groups, each tried once."""

    def __init__(self, program: Program, band: int, open_sized: Program | None = None) -> None:
        """`open_sized` is the program for all sizes, of which `program` is the one for some."""
        self.program, self.band = program, band
        self.open_sized = program if open_sized is None else open_sized
        self.rules, self._open_rules = Rules(self.open_sized is not program), Rules()
        self.uses = _uses(program)
        self._known: dict[tuple[int, int], tuple[int, Group] | None] = {}

    def group(self, first: int, last: int, fed: Fed | None = None) -> Group | None:
        if self.open_sized is not self.program:
            group = group_of(self.open_sized, first, last, self._open_rules)
            if group is None or last - first > 1 and not has_bands(group, self.band):
                return None
        return group_of(self.program, first, last, self.rules, fed)

    def can(self, step: int) -> bool:
        """Whether a step can be done by bands."""
        call = self.program.calls[step]
        return isinstance(call, Call) and self.group(step, step + 1) is not None

    def ends(self, step: int) -> bool:
        """Whether a step that can be done by bands is the last one of any group."""
        group = self.group(step, step + 1)
        return group is not None and group.rules[0].sums is not None

    def promising(self, runs: Iterable[tuple[int, int]], fed: Fed | None = None) -> list[Group]:
        """Runs that are groups, those whose largest step is least first."""
        found = [self._rated(first, last, fed) for first, last in runs]
        rated = [(rate[0], k, rate[1]) for k, rate in enumerate(found) if rate is not None]
        return [group for _, _, group in nsmallest(TRIALS, rated)]

    def _rated(self, first: int, last: int, fed: Fed | None) -> tuple[int, Group] | None:
        """A group, and the most bytes that are live in its smallest bands."""
        key = first, last
        if key not in self._known:
            group = self.group(first, last, fed)
            live = None if group is None else live_bytes(group, self.band, self.uses)
            self._known[key] = None if group is None or live is None else (live, group)
        return self._known[key]


class _Search:
    """Groups of one program, tried one after the other."""

    def __init__(self, runs: _Runs, bands: Sequence[int], aim: _Aim) -> None:
        self.runs, self.whole, self.bands, self.aim = runs, runs.program, bands, aim
        self.start: tuple[_Choice, ...] = ()
        self.budget = aim.budget
        self._tried: dict[tuple[_Choice, ...], _Trial | None] = {}

    def run(self) -> list[_Trial]:
        """Groups, one change after the other, until none lowers the peak."""
        better = self._trial(self.start)
        assert better is not None, "what the search begins with was tried"
        found = []
        while better is not None:
            found.append(better)
            better = self._better(better) or self._cheaper(better)
        return found

    def _trial(self, choices: Iterable[_Choice]) -> _Trial | None:
        """The program with these groups; None where one of them is none."""
        key = tuple(sorted(choices, key=lambda choice: choice.first))
        if key not in self._tried:
            program = _changed(self.whole, key, self.runs.rules)
            self._tried[key] = None if program is None else self.aim.trial(key, program)
        return self._tried[key]

    def _better(self, now: _Trial) -> _Trial | None:
        """One more group, of all that lower the peak that which does so most.

        It takes the place of those that it meets.
        """
        if now.peak <= self.aim.goal or not now.live:
            return None
        peak = _same_call(now.planned, now.live.index(now.peak), self.whole)
        if peak is None:
            return None
        found: _Trial | None = None
        for group in self.runs.promising(self._around(peak, now.choices)):
            kept = [c for c in now.choices if not c.meets(group.first, group.last)]
            for band in self.bands:
                trial = self._trial([*kept, _Choice(group.first, group.last, band)])
                if trial is not None and trial.peak < now.peak and trial.extra <= self.budget:
                    found = min(found or trial, trial, key=self.aim.measure)
        return found

    def _cheaper(self, now: _Trial) -> _Trial | None:
        """A group less, or one of larger bands, with no higher peak and fewer instructions."""
        if len(self.bands) == 1 and self.bands != BANDS[:1]:
            return None  # the user's rows
        found = now
        most = max(now.peak, self.aim.goal)
        for choice in now.choices:
            rest = [c for c in now.choices if c is not choice]
            larger = [b for b in (*BANDS, *LARGER_BANDS) if b > choice.band]
            others = [[*rest, _Choice(choice.first, choice.last, b, choice.fed)] for b in larger]
            for choices in (*([] if choice.fed else [rest]), *others):
                trial = self._trial(choices)
                if trial is not None and trial.peak <= most and trial.extra < found.extra:
                    found = trial
        return None if found is now else found

    def _around(self, peak: int, choices: Iterable[_Choice]) -> Iterator[tuple[int, int]]:
        """Runs of at least two calls around a step that can be done by bands."""
        if not self.runs.can(peak):
            return
        first = last = peak
        while first > 0 and self.runs.can(first - 1):
            first -= 1
        while last < len(self.whole.calls) and self.runs.can(last):
            last += 1
        fed = [choice for choice in choices if choice.fed]
        for begin in range(first, peak + 1):
            for end in range(max(peak + 1, begin + 2), last + 1):
                if not any(choice.meets(begin, end) for choice in fed):
                    yield begin, end


def _fed_search(program: Program, bands: Sequence[int], aim: _Aim) -> _Search:
    """A search that begins with a group at the image whose rows come in."""
    refusals = []
    for port in program.inputs:
        try:
            return _fed_at(program, port, bands, aim)
        except UnsupportedError as error:
            refusals.append(error)
    if not refusals:
        raise UnsupportedError(
            f"model '{program.name}' has no input whose rows could come in; leave out --io stream"
        )
    raise refusals[0]


def _fed_at(program: Program, port: Port, bands: Sequence[int], aim: _Aim) -> _Search:
    split, fed = _planar(program, port) or with_line_buffer(program, port)
    search = _Search(_Runs(split, bands[0]), bands, aim)
    readers = [
        number
        for number, step in enumerate(split.calls)
        if any(_lies_in(split, t, fed.storage) for t in operands_of(step))
    ]
    if not readers or any(p.tensor == port.tensor for p in program.outputs):
        raise _refused(program, port, "no call reads it; leave out --io stream")
    runs = [(readers[0], last) for last in range(readers[-1] + 1, len(split.calls) + 1)]
    groups = search.runs.promising(runs, fed)
    starts = [
        trial
        for group in groups
        for band in bands
        if (trial := search._trial([_Choice(group.first, group.last, band, fed)])) is not None
    ]
    if not starts:
        raise _refused(program, port, _obstacle(search, readers))
    cheap = [trial for trial in starts if trial.extra <= aim.budget]
    found = min(cheap or starts, key=aim.measure)
    search.start, search.budget = found.choices, max(aim.budget, found.extra)
    return search


def _planar(program: Program, port: Port) -> tuple[Program, Fed] | None:
    """As `with_line_buffer`, where calls read an input of several planes as such."""
    shape = cast(Sequence[int], program.tensors[port.tensor].shape)
    if len(shape) != 4 or min(shape[1:3]) < 2:
        return None
    split, fed = with_line_buffer(program, port, shape[1])
    found = by_lines(split, fed.storage, shape)
    return None if found is None else (found, fed)


def _obstacle(search: _Search, readers: Sequence[int]) -> str:
    """Why the readers of an image are no group, and what to do about it."""
    calls, steps = search.whole.calls, range(readers[0], readers[-1] + 1)
    last = readers[-1]
    at = next(
        (n for n in steps if not search.runs.can(n) or n < last and search.runs.ends(n)), None
    )
    if at is None or at in readers:
        reader = calls[readers[0] if at is None else at]
        return (
            f"{_node(reader)} reads it otherwise than row by row; give the model an image whose"
            " channels are last, or leave out --io stream"
        )
    return (
        f"{_node(calls[readers[-1]])} reads it after {_node(calls[at])}, which is not done row by"
        " row; leave out --io stream"
    )


def _node(step: Step) -> str:
    """The model's node that a step computes, or the name of its result."""
    nodes = step.nodes if isinstance(step, Call) else ()
    return nodes[0] if nodes else f"'{step.name}'"


def _lies_in(program: Program, tensor: int, storage: int) -> bool:
    at = program.tensors[tensor].location
    return at.space == "arena" and at.index == storage


def _same_call(program: Program, step: int, other: Program) -> int | None:
    """The step of another stage of the program that makes the same result, if there is one."""
    call = program.calls[step]
    if not isinstance(call, Call):
        return None
    places = (
        n
        for n, c in enumerate(other.calls)
        if isinstance(c, Call) and c.operands[-1] == call.operands[-1]
    )
    return next(places, None)
