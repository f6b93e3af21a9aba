"""Dispatchers: from the shapes of a function's inputs to buckets, as in TVM's RFC 4118.

A dispatcher is a function of ``{input: dims}``, where a dim is an int or `relay.Any`. It returns
``{input: {axis: [(low, high), ...]}}``: half-open intervals, ``None`` where there is no end.

Example
-------
>>> from tvm_megcc.relay.dims import Any
>>> uniform_dispatcher(step=4, low=1, high=9)({"x": (Any(), 3)})
{'x': {0: [(1, 5), (5, 9), (9, None)]}}
>>> log_dispatcher(low=1, high=9)({"x": (Any(), 3)})
{'x': {0: [(1, 2), (2, 4), (4, 8), (8, 9), (9, None)]}}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import overload

from tvm_megcc.dispatch.plan import Interval
from tvm_megcc.errors import InputError

Shapes = Mapping[str, Sequence[object]]
Buckets = dict[str, dict[int, list[Interval]]]
Dispatcher = Callable[[Shapes], Buckets]

#: Range of the buckets of `log_dispatcher` when none is given.
LOG_LOW, LOG_HIGH = 1, 256


@overload
def log_dispatcher(shapes: Shapes) -> Buckets: ...
@overload
def log_dispatcher(*, low: int = LOG_LOW, high: int = LOG_HIGH) -> Dispatcher: ...
def log_dispatcher(
    shapes: Shapes | None = None, *, low: int = LOG_LOW, high: int = LOG_HIGH
) -> Buckets | Dispatcher:
    """Buckets that double: ``[1, 2), [2, 4), [4, 8), ...``, and one for all that is larger.

    A dispatcher itself, and with ``low`` and ``high`` a maker of one.
    """
    _check_range(low, high)
    intervals: list[Interval] = []
    start = low
    while start < high:
        intervals.append((start, min(2 * start if start else 1, high)))
        start = 2 * start if start else 1
    return _for_all([*intervals, (high, None)], shapes)


def uniform_dispatcher(*, step: int, low: int = 1, high: int = 256) -> Dispatcher:
    """Buckets of equal width from ``low`` to ``high``, and one for all that is larger."""
    _check_range(low, high)
    if step < 1:
        raise InputError(f"uniform_dispatcher: the step is {step}; give a positive one")
    starts = range(low, high, step)
    intervals: list[Interval] = [(s, min(s + step, high)) for s in starts]
    made = _for_all([*intervals, (high, None)], None)
    assert callable(made)
    return made


def _check_range(low: int, high: int) -> None:
    if not 0 <= low < high:
        raise InputError(f"buckets from {low} to {high}: give 0 <= low < high")


def _for_all(intervals: list[Interval], shapes: Shapes | None) -> Buckets | Dispatcher:
    """These buckets for every axis that is not fixed."""

    def dispatcher(given: Shapes) -> Buckets:
        found = {
            name: {axis: list(intervals) for axis, dim in enumerate(dims) if is_open(dim)}
            for name, dims in given.items()
        }
        return {name: axes for name, axes in found.items() if axes}

    return dispatcher if shapes is None else dispatcher(shapes)


def is_open(dim: object) -> bool:
    """Whether a dim of a Relay shape is not a number."""
    return not isinstance(dim, int) and not hasattr(dim, "__index__")
