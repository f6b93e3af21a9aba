"""Where groups begin and end, and how many rows a band has.

The calls around the peak of live bytes are tried as a group, then those around the peak that is left,
until no group lowers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tvm_megcc.core.program import Call, Program
from tvm_megcc.streaming.bands import group_of, streamed

#: ``auto``: the least arena; a number: so many rows a band.
Stream = str | int

#: Rows of a band that are tried, of the group's last result.
BANDS = (1, 2, 4, 8)

#: Forwarding of a program, and the bytes that are live during each of its calls.
Pressure = Callable[[Program], list[int]]


def stream(program: Program, how: Stream, pressure: Pressure) -> Program:
    """`program` with its largest tensors in line buffers, where that lowers the arena.

    Parameters
    ----------
    program : Program
        Without addresses, each value in a storage of its own.
    how : {"off", "auto"} or int
    pressure : callable
        Takes a program, gives the bytes that are live during each step.
    """
    if how == "off" or program.symbols:
        return program
    bands = BANDS if how == "auto" else (how,)
    while True:
        better = _better(program, bands, pressure)
        if better is None:
            return program
        program = better


def _better(program: Program, bands: tuple[int, ...], pressure: Pressure) -> Program | None:
    """The program with one more group, of all that lower the peak that which does so most."""
    live = pressure(program)
    worst = max(live, default=0)
    found, least = None, (worst, 0)
    for first, last in _runs(program, live.index(worst)):
        group = group_of(program, first, last)
        if group is None:
            continue
        for band in bands:
            trial = streamed(group, band)
            if trial is None:
                continue
            peak = max(pressure(trial), default=0)
            if (peak, -band) < least:
                found, least = trial, (peak, -band)
    return found


def _runs(program: Program, peak: int) -> Iterator[tuple[int, int]]:
    """Runs of at least two calls around a step that can be done by bands."""
    first = last = peak
    while first > 0 and _can(program, first - 1):
        first -= 1
    while last < len(program.calls) and _can(program, last):
        last += 1
    for begin in range(first, peak + 1):
        for end in range(max(peak + 1, begin + 2), last + 1):
            yield begin, end


def _can(program: Program, step: int) -> bool:
    return isinstance(program.calls[step], Call) and group_of(program, step, step + 1) is not None
