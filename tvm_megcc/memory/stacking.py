"""Blocks for a program of symbolic shapes: which stands on which, for any sizes.

Enters: a `Program` with symbols. Leaves: the same with ``storages``; the VM works out the addresses
when shapes change. The order is taken from the plan for some sizes (`memory.below`), and of the
orders for several sizes the one that wastes least over all of them is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isinf

from tvm_megcc.core.program import (
    Location,
    Program,
    Storage,
    Tensor,
    data_symbols,
    operands_of,
    sized,
    usual_sizes,
)
from tvm_megcc.dims import bounds, symbols
from tvm_megcc.memory.below import BelowOrder, addresses, below_order, validate_order
from tvm_megcc.memory.block import Interval
from tvm_megcc.memory.lifetimes import problem_of
from tvm_megcc.memory.portfolio import plan
from tvm_megcc.memory.problem import Problem, lower_bound


def stack(
    program: Program,
    planner: str = "auto",
    time_limit: float = 5.0,
    clobber_inputs: bool = False,
) -> Program:
    """`program` with every arena tensor in one of its new ``storages``.

    Parameters
    ----------
    planner, time_limit
        See `tvm_megcc.memory.plan`; the time is for all plans together.
    clobber_inputs : bool
        Whether the space of an input in the arena may be used again after its last read.
    """
    found = [problem_of(sized(program, v), clobber_inputs) for v in usual_sizes(program)]
    dynamic = _dynamic(program)
    ids = tuple(i for i in found[0][1] if i not in dynamic)
    problems = [_without(problem, storages, dynamic) for problem, storages in found]
    share = time_limit / len(problems)
    orders = [below_order(p, plan(p, planner, share).offsets) for p in problems]
    wastes = [[_waste(order, p) for p in problems] for order in orders]
    best = min(range(len(orders)), key=lambda k: (max(wastes[k]), sum(wastes[k])))
    validate_order(problems[0], orders[best])
    own = _without(*found[0], frozenset(ids))
    stacked = _stacked(program, problems[0], ids, orders[best], own, tuple(sorted(dynamic)))
    return replace(stacked, arena_limit=_limit(stacked))


def arena_bytes(program: Program, values: Mapping[str, int]) -> int:
    """Bytes of arena that a stacked program takes for these sizes, as the VM works them out."""
    return placed(program, values)[1]


def _limit(program: Program) -> int | None:
    """Bytes that no arena of the program exceeds, None where a dim has no bound."""
    ends = [0.0] * len(program.storages)
    data = data_symbols(program)
    for tensor in program.tensors:
        home, end = tensor.location, tensor.location.offset + tensor.nbytes
        if home.space == "block" and not symbols(end) & data:
            ends[home.index] = max(ends[home.index], bounds(end)[1])
    kept = [0 if s.dynamic else e for s, e in zip(program.storages, ends, strict=True)]
    if any(isinf(end) for end in kept):
        return None
    return addresses(_order(program), [int(end) for end in kept])[1]


def _order(program: Program) -> BelowOrder:
    """Which storages of a planned program lie directly above which, as a partial order."""
    return BelowOrder(
        sequence=tuple(range(len(program.storages))),
        below=tuple(s.below for s in program.storages),
        alignments=tuple(s.alignment for s in program.storages),
    )


def placed(program: Program, values: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """The address of each of a stacked program's ``storages`` for these sizes, and the arena.

    Sizes that depend on data need not be given: the arena does not depend on them.
    """
    values = {**{s.name: 0 for s in data_symbols(program)}, **values}
    sizes = [0] * len(program.storages)
    for tensor in sized(program, values).tensors:
        home = tensor.location
        if home.space == "block" and not program.storages[home.index].dynamic:
            end = home.offset + tensor.nbytes
            sizes[home.index] = max(sizes[home.index], int(end))  # type: ignore[arg-type]
    return addresses(_order(program), sizes)


def _dynamic(program: Program) -> frozenset[int]:
    """Storages whose size depends on data: they are not in the arena.

    That of its first tensor decides: what comes later is a part of that or takes its place. An
    input comes before all steps, the first of which may read it by other dims.
    """
    data = data_symbols(program)
    inputs = (program.tensors[p.tensor].location for p in program.inputs)
    seen = {at.index for at in inputs if at.space == "arena"}
    found: set[int] = set()
    for step in program.calls if data else ():
        for tensor_id in operands_of(step):
            tensor = program.tensors[tensor_id]
            at = tensor.location
            if at.space == "arena" and at.index not in seen:
                seen.add(at.index)
                if symbols(at.offset + tensor.nbytes) & data:
                    found.add(at.index)
    return frozenset(found)


def _without(problem: Problem, ids: tuple[int, ...], left_out: frozenset[int]) -> Problem:
    pairs = zip(problem.intervals, ids, strict=True)
    return Problem(tuple(block for block, storage in pairs if storage not in left_out))


def _waste(order: BelowOrder, problem: Problem) -> float:
    """Arena of the order for the sizes of `problem` over the least that any plan takes."""
    _, arena = addresses(order, [b.size for b in problem.intervals])
    return arena / max(lower_bound(problem), 1)


def _stacked(
    program: Program,
    problem: Problem,
    ids: tuple[int, ...],
    order: BelowOrder,
    own: Problem,
    dynamic: tuple[int, ...],
) -> Program:
    """`program` with blocks numbered in an order in which each stands on smaller numbers.

    The blocks of `own`, which have memory of their own, come last.
    """
    number = {block: k for k, block in enumerate(order.sequence)}
    below = (tuple(sorted(number[b] for b in order.below[block])) for block in order.sequence)
    stacked = (problem.intervals[block] for block in order.sequence)
    storages = [_storage(b, under, False) for b, under in zip(stacked, below, strict=True)]
    home = {ids[block]: k for block, k in number.items()}
    for storage, block in zip(dynamic, own.intervals, strict=True):
        home[storage] = len(storages)
        storages.append(_storage(block, (), True))

    def moved(tensor: Tensor) -> Tensor:
        old = tensor.location
        if old.space != "arena":
            return tensor
        # A tensor that no port and no call touches has no block.
        where = Location("block", home.get(old.index, 0), old.offset)
        return replace(tensor, location=where)

    tensors = tuple(map(moved, program.tensors))
    return replace(program, tensors=tensors, storages=tuple(storages))


def _storage(block: Interval, below: tuple[int, ...], dynamic: bool) -> Storage:
    return Storage(block.name, block.alignment, below, block.first, block.last, dynamic)
