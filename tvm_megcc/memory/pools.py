"""Several memories: fast and small first, large and slow last.

Enters: a problem, and pools by name and size (None: as large as it must be). Leaves: a pool and an
offset per block. Blocks are asked in the order of benefit per byte, and each goes to the first pool
that it fits; then every pool is planned again on its own, and what was left out asks once more.

Example
-------
>>> p = Problem((Interval("a", 0, 2, 64), Interval("b", 1, 3, 640)))
>>> s = plan_pools(p, [("sram", 512), ("psram", None)])
>>> s.places
(('sram', 0), ('psram', 0))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tvm_megcc.errors import InputError
from tvm_megcc.memory.block import Interval
from tvm_megcc.memory.portfolio import DoesNotFit, plan
from tvm_megcc.memory.problem import Problem, Solution, lower_bound, peak, validate

Pool = tuple[str, int | None]


@dataclass(frozen=True, slots=True)
class PoolSolution:
    """The place of every block.

    Attributes
    ----------
    places : tuple of (str, int)
        Pool and offset, in the problem's order.
    used : tuple of (str, int)
        Bytes that each pool needs, in the order of the pools.
    """

    places: tuple[tuple[str, int], ...]
    used: tuple[tuple[str, int], ...]


def plan_pools(
    problem: Problem,
    pools: Sequence[Pool],
    accesses: Sequence[float] | None = None,
    time_limit: float = 5.0,
) -> PoolSolution:
    """Spread `problem` over `pools`, of which the first is the best.

    Parameters
    ----------
    pools : sequence of (name, bytes or None)
    accesses : sequence of float, optional
        Bytes read and written in each block; a block's benefit is that over its bytes times the
        time it holds them. Without it every block counts its size once for its producer and once
        for its reader, and so the blocks that live shortest come first.
    time_limit : float
        Seconds for all searches together.

    Raises
    ------
    InputError
        When the pools are unusable: none, two of one name, or a size that is negative.
    DoesNotFit
        When some block fits no pool; it says how many bytes are missing and which step needs them.
    """
    check_pools(pools)
    problem.check()
    weights = [2.0 * b.size for b in problem.intervals] if accesses is None else list(accesses)
    if len(weights) != len(problem.intervals):
        raise InputError(f"{len(weights)} weights for {len(problem.intervals)} blocks")
    waiting = sorted(
        (k for k, b in enumerate(problem.intervals)),
        key=lambda k: (-_benefit(problem.intervals[k], weights[k]), k),
    )
    places: dict[int, tuple[str, int]] = {}
    used: list[tuple[str, int]] = []
    for number, (name, size) in enumerate(pools):
        seconds = time_limit / len(pools)
        if size is None:
            chosen, solution = waiting, plan(_part(problem, waiting), time_limit=seconds)
        else:
            chosen, solution = _fill(problem, waiting, size, seconds)
        places.update((k, (name, o)) for k, o in zip(chosen, solution.offsets, strict=True))
        used.append((name, solution.arena_bytes))
        taken = set(chosen)
        waiting = [k for k in waiting if k not in taken]
        if waiting and number == len(pools) - 1:
            raise _does_not_fit(problem, waiting, chosen, pools[-1])
    return PoolSolution(tuple(places[k] for k in range(len(problem.intervals))), tuple(used))


def validate_pools(problem: Problem, pools: Sequence[Pool], solution: PoolSolution) -> None:
    """Check that every pool on its own is a valid plan within its size.

    Raises
    ------
    ValueError
        As `validate`, or when a pool is unknown or overfull.
    """
    used, sizes = dict(solution.used), dict(pools)
    if len(solution.places) != len(problem.intervals) or list(used) != list(sizes):
        raise ValueError("the blocks or the pools are not those of the problem")
    for name, size in sizes.items():
        mine = [k for k, place in enumerate(solution.places) if place[0] == name]
        if size is not None and used[name] > size:
            raise ValueError(f"pool {name} holds {used[name]} bytes, but has {size}")
        offsets = tuple(solution.places[k][1] for k in mine)
        validate(_part(problem, mine), Solution(offsets, used[name], "pools"))
    for block, (name, _) in zip(problem.intervals, solution.places, strict=True):
        if name not in sizes:
            raise ValueError(f"{block.name}: pool {name} is unknown")


def check_pools(pools: Sequence[Pool], planner: str = "auto") -> None:
    """Raise an `InputError` for pools that make no sense, also with this planner."""
    if planner != "auto":
        raise InputError(f"memory planner '{planner}' is for one arena; with pools use auto")
    if not pools:
        raise InputError("no memory pool is given; name at least one")
    names = [name for name, _ in pools]
    for name, size in pools:
        if names.count(name) > 1:
            raise InputError(f"memory pool '{name}' is given twice; give it once")
        if size is not None and size < 0:
            raise InputError(f"memory pool '{name}' has {size} bytes; use 0 or more")


def _benefit(block: Interval, weight: float) -> float:
    """Accesses per byte and instruction; what is fixed or never live goes first."""
    if block.offset is not None or not block.is_live:
        return float("inf")
    return weight / (block.size * (block.last - block.first))


def _part(problem: Problem, blocks: Sequence[int]) -> Problem:
    return Problem(tuple(problem.intervals[k] for k in blocks))


def _fill(
    problem: Problem, waiting: Sequence[int], size: int, seconds: float
) -> tuple[list[int], Solution]:
    """The blocks that go into a pool of `size` bytes, by benefit, and their plan.

    A block is tried by the live bytes first; then a plan must be found, and while there is none the
    block of least benefit at the tightest step is sent on.
    """
    chosen: list[int] = []
    for k in waiting:
        if lower_bound(_part(problem, [*chosen, k])) <= size:
            chosen.append(k)
    while True:
        try:
            solution = plan(_part(problem, chosen), time_limit=seconds, limit=size)
            break
        except DoesNotFit as error:
            seconds /= 2
            chosen.remove(_least(problem, chosen, error.step))
    return chosen, solution


def _least(problem: Problem, chosen: Sequence[int], step: int) -> int:
    """The block of least benefit that is live at an instruction."""
    blocks = problem.intervals
    return next(k for k in reversed(chosen) if blocks[k].first <= step < blocks[k].last)


def _does_not_fit(
    problem: Problem, left: Sequence[int], chosen: Sequence[int], last: Pool
) -> DoesNotFit:
    part = Problem(
        tuple(replace(b, offset=None) for b in _part(problem, [*chosen, *left]).intervals)
    )
    step, need = peak(part)
    blocks = sorted((problem.intervals[k] for k in left), key=lambda b: -b.size)
    missing = max(need - (last[1] or 0), blocks[0].size - (last[1] or 0), 1)
    names = tuple(b.name for b in blocks)
    return DoesNotFit(
        f"{len(blocks)} blocks fit no memory pool, the largest is {names[0]} of {blocks[0].size}"
        f" bytes; step {step} needs {missing} more bytes in pool '{last[0]}'",
        missing, step, names,
    )  # fmt: skip
