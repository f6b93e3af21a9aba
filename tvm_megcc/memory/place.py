"""``Program -> Program``: give every storage of the arena its offset.

A program of symbolic shapes gets blocks that stand upon one another instead of offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tvm_megcc.core.program import Block, Call, Location, MemoryPlan, Pool, Program, operands_of
from tvm_megcc.dims import at
from tvm_megcc.errors import InputError
from tvm_megcc.memory.block import Interval, align
from tvm_megcc.memory.lifetimes import problem_of
from tvm_megcc.memory.pools import check_pools, plan_pools
from tvm_megcc.memory.portfolio import DoesNotFit, plan
from tvm_megcc.memory.problem import Problem, lower_bound, names_at, peak_step
from tvm_megcc.memory.stacking import stack


def place(
    program: Program,
    planner: str = "auto",
    time_limit: float = 5.0,
    limit: int | None = None,
    pools: Sequence[tuple[str, int | None]] | None = None,
    clobber_inputs: bool = False,
) -> Program:
    """`program` with ``arena_bytes`` and ``plan`` set and every arena location planned.

    Parameters
    ----------
    planner, time_limit
        See `tvm_megcc.memory.plan`.
    limit : int, optional
        Bytes that all pools together may take.
    pools : sequence of (name, bytes or None), optional
        The caller's buffers, fastest first; None is as large as needed. By default one, "arena".
        What is read and written most per byte and call goes to the first (`plan_pools`), each by
        the planner ``auto``.
    clobber_inputs : bool
        Whether the space of an input in the arena may be used again after its last read.

    Raises
    ------
    InputError
        For an unknown planner or a time limit or pools that make no sense.
    DoesNotFit
        When the plan found is larger than `limit` or the pools; it names the call.
    """
    if program.symbols:
        if pools or limit is not None:
            raise InputError(
                f"model '{program.name}': memory pools and limits need fixed shapes, and"
                f" '{program.symbols[0].name}' is symbolic; give it a size with --input-shapes"
            )
        return stack(program, planner, time_limit, clobber_inputs)
    problem, storages = problem_of(program, clobber_inputs)
    try:
        if pools:
            accesses = _accesses(program, storages)
            found = _several(problem, accesses, planner, time_limit, pools)
        else:
            found = _one_arena(problem, planner, time_limit, limit)
    except DoesNotFit as error:
        raise _named(program, problem, error, _room(error, limit, pools or ())) from error
    total = sum(pool.bytes for pool in found.pools)
    if limit is not None and total > limit:  # in several pools
        over = DoesNotFit("more than the limit", total - limit, peak_step(problem), ())
        raise _named(program, problem, over, _room(over, limit, ()))
    blocks = tuple(
        block
        for interval, (pool, offset) in zip(problem.intervals, found.places, strict=True)
        for block in _blocks(interval, pool, offset)
    )
    base = dict(zip(storages, found.places, strict=True))
    tensors = tuple(
        replace(t, location=_moved(t.location, base)) if t.location.space == "arena" else t
        for t in program.tensors
    )
    memory_plan = MemoryPlan(
        planner=found.planner,
        lower_bound=found.lower_bound,
        naive_bytes=sum(align(b.size, b.alignment) for b in problem.intervals),
        peak_step=peak_step(problem),
        blocks=blocks,
        pools=found.pools,
    )
    return replace(program, tensors=tensors, arena_bytes=total, plan=memory_plan)


def _blocks(interval: Interval, pool: int, offset: int) -> Iterator[Block]:
    """The blocks of a storage: one, or one after the other where parts of it are live."""
    if not interval.gaps:
        yield Block(interval.name, interval.first, interval.last, interval.size, pool, offset)
        return
    for p in interval.pieces():
        yield Block(interval.name, p.first, p.last, p.hi - p.lo, pool, offset + p.lo)


@dataclass(frozen=True, slots=True)
class _Found:
    """(pool, offset) of each block, and how they were found."""

    places: tuple[tuple[int, int], ...]
    pools: tuple[Pool, ...]
    planner: str
    lower_bound: int


def _one_arena(problem: Problem, planner: str, time_limit: float, limit: int | None) -> _Found:
    solution = plan(problem, planner, time_limit, limit)
    places = tuple((0, offset) for offset in solution.offsets)
    pools = (Pool("arena", solution.arena_bytes),)
    # No plan takes less than one that the search proved to be the best.
    bound = solution.arena_bytes if solution.optimal else solution.lower_bound
    return _Found(places, pools, solution.planner, bound)


def _several(
    problem: Problem,
    accesses: Sequence[int],
    planner: str,
    time_limit: float,
    pools: Sequence[tuple[str, int | None]],
) -> _Found:
    check_pools(pools, planner)
    solution = plan_pools(problem, pools, accesses, time_limit)
    number = {name: k for k, (name, _) in enumerate(pools)}
    return _Found(
        places=tuple((number[name], offset) for name, offset in solution.places),
        pools=tuple(Pool(name, used) for name, used in solution.used),
        planner="pools",
        lower_bound=lower_bound(problem),
    )


def _accesses(program: Program, storages: Sequence[int]) -> list[int]:
    """Bytes that all calls together read and write in each storage."""
    count = dict.fromkeys(storages, 0)
    for call in program.calls:
        for tensor_id in operands_of(call):
            tensor = program.tensors[tensor_id]
            if tensor.location.space == "arena":
                count[tensor.location.index] += at(tensor.nbytes, {})
    return [count[storage] for storage in storages]


def _moved(location: Location, base: dict[int, tuple[int, int]]) -> Location:
    """A tensor's place: no port and no call touches it where its storage has none."""
    pool, offset = base.get(location.index, (0, 0))
    return Location("arena", pool, offset + location.offset)


def _room(error: DoesNotFit, limit: int | None, pools: Sequence[tuple[str, int | None]]) -> str:
    if pools:
        sizes = ", ".join(f"'{name}' of {'any' if size is None else size}" for name, size in pools)
        return f"its tensors do not fit into the pools ({sizes} bytes)"
    return f"its arena takes {(limit or 0) + error.missing_bytes} and there are {limit}"


def _named(program: Program, problem: Problem, error: DoesNotFit, room: str) -> DoesNotFit:
    """The error in words of the model: the call by its node's name, and what is live there."""
    step, missing = error.step, error.missing_bytes
    name = program.calls[step].name if step < len(program.calls) else ""
    names = names_at(problem, step)
    shown = ", ".join(f"'{n}'" for n in names[:3]) + (", ..." if names[3:] else "")
    threads = any(isinstance(c, Call) and c.workers > 1 for c in program.calls)
    remedy = "more memory, fewer threads" if threads else "more memory"
    return DoesNotFit(
        f"model '{program.name}' for {program.arch}: {missing} bytes are missing, {room}; call"
        f" {step}, '{name}', needs the most, for {shown}; give it {remedy} or a smaller input",
        missing,
        step,
        names,
    )
