"""What the generators share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from tests.fuzz.data import BOOL, Random
from tests.fuzz.sketch import Sketch, Unfit

Function = TypeVar("Function", bound=Callable[[Sketch], None])


def often(times: int) -> Callable[[Function], Function]:
    """A generator that stands for several operators comes as often as they would."""

    def mark(function: Function) -> Function:
        function.times = times  # type: ignore[attr-defined]
        return function

    return mark


def output(names: list[str] | None) -> str:
    """The output of a node that the others are built on."""
    if names is None:
        raise Unfit
    return names[0]


def broadcast_shape(rng: Random, shape: Sequence[int]) -> tuple[int, ...]:
    """A shape that broadcasts with this one."""
    dims = [1 if rng.chance(0.2) else d for d in shape]
    if rng.chance(0.2):
        dims = dims[rng.below(len(dims) + 1) :]
    elif rng.chance(0.08) and len(dims) < 5:
        dims = [rng.between(1, 3), *dims]
    return tuple(dims)


def condition(s: Sketch, holds: float, at_run_time: float) -> str:
    """A condition that is there, or a new one which holds, and is given at run time, so often."""
    chosen = [n for n in s.made if s.values[n].dtype == BOOL and s.values[n].size == 1]
    if chosen and s.rng.chance(0.5):
        return s.rng.one(chosen)
    return s.give(np.array(s.rng.chance(holds)), at_run_time)


def partner(
    s: Sketch, name: str, dtypes: Sequence[np.dtype] | None = None, tame: bool = False
) -> str:
    """An operand that broadcasts with another one, of its type unless others are given."""
    shape = s.shape_of(name)

    def fits(array: np.ndarray) -> bool:
        try:
            return np.broadcast_shapes(shape, array.shape) is not None
        except ValueError:
            return False

    return s.data(
        dtypes or (s.dtype_of(name),), fits=fits, shape=lambda: broadcast_shape(s.rng, shape),
        reuse=0.5, tame=tame,
    )  # fmt: skip


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def axis_of(s: Sketch, rank: int) -> int:
    """An axis, from either end."""
    axis = s.rng.below(max(rank, 1))
    return axis - rank if s.rng.chance(0.35) and rank else axis


def axes_of(s: Sketch, rank: int, low: int = 0) -> list[int]:
    """Some axes, from either end, in any order."""
    axes = s.rng.some(range(rank), min(low, rank))
    axes = [a - rank if s.rng.chance(0.3) else a for a in axes]
    return s.rng.shuffled(axes) if s.rng.chance(0.3) else axes
