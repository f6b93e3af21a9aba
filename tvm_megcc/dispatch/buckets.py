"""Buckets of axes -> buckets of symbolic dims: checked, clipped to the dims' bounds, counted.

Enters: a function's parameters and a dispatcher's buckets of their axes. Leaves: the intervals of
each symbolic dim in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tvm_megcc.dims import Size, Symbol, as_multiple
from tvm_megcc.dispatch.plan import Interval
from tvm_megcc.errors import InputError

#: Default limit of the number of variants.
MAX_BUCKETS = 256


def by_symbol(
    shapes: Mapping[str, Sequence[Size]], buckets: Mapping[str, Mapping[int, Sequence[Interval]]]
) -> dict[Symbol, list[Interval]]:
    """The intervals of each symbolic dim.

    Parameters
    ----------
    shapes : mapping of input name to dims
    buckets : mapping of input name to {axis: intervals}

    Raises
    ------
    InputError
        An input or axis that is not there or fixed, an interval that is empty or overlaps another,
        two axes of one dim with different buckets, a dim none of whose buckets is within its
        bounds.
    """
    found: dict[Symbol, list[Interval]] = {}
    for name, axes in buckets.items():
        if name not in shapes:
            known = ", ".join(f"'{n}'" for n in shapes)
            raise InputError(f"dispatch: '{name}' is no input of the function; they are {known}")
        for axis, intervals in axes.items():
            factor, symbol = _symbol(name, shapes[name], axis)
            checked = [
                (-(-low // factor), None if high is None else -(-high // factor))
                for low, high in _checked(name, axis, intervals)
            ]
            if found.setdefault(symbol, checked) != checked:
                raise InputError(
                    f"dispatch: axis {axis} of '{name}' is the dim '{symbol.name}', which has other"
                    " buckets elsewhere; give it one list"
                )
    if not found:
        raise InputError("dispatch: no axis has buckets; name an axis that is not fixed")
    return {symbol: _clipped(symbol, intervals) for symbol, intervals in found.items()}


def check_count(found: Mapping[Symbol, Sequence[Interval]], max_buckets: int) -> int:
    """The number of variants for these intervals.

    Raises
    ------
    InputError
        When they are too many.
    """
    count = prod(len(intervals) for intervals in found.values())
    if count > max_buckets:
        each = " x ".join(f"{len(i)} of '{s.name}'" for s, i in found.items())
        raise InputError(
            f"dispatch: {each} are {count} programs and the limit is {max_buckets}; give coarser"
            " buckets, bounds for the dims (--input-shapes), fewer axes, or --max-buckets"
        )
    return count


def _symbol(name: str, dims: Sequence[Size], axis: int) -> tuple[int, Symbol]:
    """Factor and symbol of an axis whose dim is a multiple of a symbol."""
    if not -len(dims) <= axis < len(dims):
        raise InputError(f"dispatch: '{name}' has {len(dims)} axes and no axis {axis}")
    found = as_multiple(dims[axis])
    if found is None:
        raise InputError(
            f"dispatch: axis {axis} of '{name}' is {dims[axis]}, which is not symbolic; give it no"
            ' buckets, or import the model with relay.Any() (--input-shapes "...?...") there'
        )
    return found


def _checked(name: str, axis: int, intervals: Sequence[Interval]) -> list[Interval]:
    where = f"dispatch: axis {axis} of '{name}'"
    rows: list[Interval] = sorted(((int(low), high) for low, high in intervals), key=lambda i: i[0])
    if not rows:
        raise InputError(f"{where} has an empty list of buckets; give at least one")
    for low, high in rows:
        if low < 0 or (high is not None and high <= low):
            raise InputError(f"{where}: the bucket [{low}, {high}) is empty; give low < high")
    for (_, end), (start, after) in zip(rows, rows[1:], strict=False):
        if end is None or end > start:
            raise InputError(
                f"{where}: a bucket up to {end} and [{start}, {after}) overlap; give disjoint ones"
            )
    return rows


def _clipped(symbol: Symbol, intervals: Sequence[Interval]) -> list[Interval]:
    """The intervals within the bounds of the dim; those outside are dropped."""
    end = None if symbol.high is None else symbol.high + 1
    rows: list[Interval] = []
    for low, high in intervals:
        start = max(low, symbol.low)
        stop = high if end is None else end if high is None else min(high, end)
        if stop is None or start < stop:
            rows.append((start, stop))
    if not rows:
        raise InputError(
            f"dispatch: no bucket of '{symbol.name}' is within its bounds {symbol.low} to"
            f" {symbol.high}; give others"
        )
    return rows
