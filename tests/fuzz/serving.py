"""How a package is told to serve a graph's open dims: bounds, listed shapes, buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.evaluate import Array

#: What is asked for; the first is what holds when nothing is said.
KINDS = ("open", "bounded", "listed", "buckets")

#: Dims of runs that are only to be refused are larger.
_MOST = 1000
#: Axes with buckets: each has two or three, and each combination is a program.
_AXES = 2

_Feed = Mapping[str, Array]
_Names = Mapping[str, Sequence[str | None]]


@dataclass(frozen=True)
class Serving:
    """What `driver.compile_programs` is told of shapes."""

    shapes: dict[str, tuple[Any, ...]] | None = None
    listed: tuple[dict[str, tuple[int, ...]], ...] = ()
    buckets: dict[str, dict[int, list[tuple[int, int | None]]]] = field(default_factory=dict)


#: One program, for all sizes that the model leaves open.
AS_IT_IS = Serving()


def serving(kind: str, open_dims: _Names, feeds: Sequence[_Feed]) -> Serving:
    """What serves these runs: as they are, or a size beyond them is open, in bounds or buckets."""
    open_dims = {n: row for n, row in open_dims.items() if any(row) and n in feeds[0]}
    feeds = [f for f in feeds if all(max(a.shape, default=0) < _MOST for a in f.values())]
    if not open_dims or not feeds:
        return AS_IT_IS
    if kind == "bounded":
        return Serving(_bounds(open_dims, feeds))
    if kind == "listed":
        rows = [{n: feed[n].shape for n in open_dims} for feed in feeds]
        return Serving(listed=tuple(r for k, r in enumerate(rows) if r not in rows[:k]))
    if kind == "buckets":
        return Serving(buckets=_buckets(open_dims, feeds))
    return AS_IT_IS


def _bounds(open_dims: _Names, feeds: Sequence[_Feed]) -> dict[str, tuple[Any, ...]]:
    sizes: dict[str, set[int]] = {}
    for port, row in open_dims.items():
        for axis, name in enumerate(row):
            if name:
                sizes.setdefault(name, set()).update(feed[port].shape[axis] for feed in feeds)
    dims = {name: f"{name}={min(found)}..{max(found)}" for name, found in sizes.items()}
    return {port: tuple(dims[n] if n else -1 for n in row) for port, row in open_dims.items()}


def _buckets(
    open_dims: _Names, feeds: Sequence[_Feed]
) -> dict[str, dict[int, list[tuple[int, int | None]]]]:
    """A bucket of one size, one up to the next and the rest, of the first dims that are open."""
    axes = {n: (p, k) for p, row in open_dims.items() for k, n in enumerate(row) if n}
    found: dict[str, dict[int, list[tuple[int, int | None]]]] = {}
    for port, axis in list(axes.values())[:_AXES]:
        first, *more = sorted({feed[port].shape[axis] for feed in feeds})
        rows: list[tuple[int, int | None]] = [(first, first + 1)]
        if more:
            rows += [(first + 1, more[0] + 1), (more[0] + 1, None)]
        found.setdefault(port, {})[axis] = rows
    return found
