"""Numbers in place of symbols, where a decision needs some."""

from __future__ import annotations

from collections.abc import Iterable

from .size import Size, Symbol, at, symbols

#: Values that stand for a dim without bounds where a decision needs numbers, the usual one first.
#: Some are multiples of 32, as many networks need them.
TYPICAL = (64, 1, 7, 320, 32, 300)


def samples(found: Iterable[Symbol]) -> list[dict[str, int]]:
    """Some values of all symbols, within their bounds: the usual case first, then other ones."""
    names = list(found)
    rows = [{s.name: _within(s, value) for s in names} for value in TYPICAL]
    # Dims of different size: what is large for one value of a dim need not be for the other's.
    for turn, s in enumerate(names[:4] if len(names) > 1 else ()):
        other = {t.name: _within(t, TYPICAL[(turn + k) % 2]) for k, t in enumerate(names)}
        rows.append({**other, s.name: _within(s, TYPICAL[3])})
    return [row for k, row in enumerate(rows) if row not in rows[:k]]


def typical(size: Size) -> int:
    """What a size usually is."""
    return at(size, samples(symbols(size))[0])


def _within(found: Symbol, value: int) -> int:
    low, high = found.bounds
    return int(min(max(value, low), high))
