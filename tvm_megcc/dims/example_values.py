"""Example values of symbols, for decisions that need numbers."""

from __future__ import annotations

from collections.abc import Iterable

from .size import Size, Symbol, at, symbols

#: Example values of a dim without bounds, the usual value first. Some are multiples of 32, as
#: many networks need them.
TYPICAL = (64, 1, 7, 320, 32, 300)


def samples(found: Iterable[Symbol]) -> list[dict[str, int]]:
    """Example values of all symbols, within their bounds, the usual case first."""
    names = list(found)
    rows = [{s.name: _within(s, value) for s in names} for value in TYPICAL]
    # Dims of different sizes: a dim may be large while others are small.
    for turn, s in enumerate(names[:4] if len(names) > 1 else ()):
        other = {t.name: _within(t, TYPICAL[(turn + k) % 2]) for k, t in enumerate(names)}
        rows.append({**other, s.name: _within(s, TYPICAL[3])})
    return [row for k, row in enumerate(rows) if row not in rows[:k]]


def typical(size: Size) -> int:
    """The number that a size is for the usual values of its symbols."""
    return at(size, samples(symbols(size))[0])


def _within(found: Symbol, value: int) -> int:
    low, high = found.bounds
    return int(min(max(value, low), high))
