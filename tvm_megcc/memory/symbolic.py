"""Blocks for a program of symbolic shapes: which stands on which, for any sizes.

Enters: a `Program` with symbols. Leaves: the same with ``storages``; the VM works out the addresses
when shapes change. The order is taken from the plan for some sizes (`memory.below`), and of the
orders for several sizes the one that wastes least over all of them is kept.

Example
-------
>>> stacked = stack(program)                                     # doctest: +SKIP
>>> arena_bytes(stacked, {"n": 4})                               # doctest: +SKIP
1204224
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tvm_megcc.dims import samples
from tvm_megcc.memory.below import BelowOrder, addresses, below_order, validate_order
from tvm_megcc.memory.lifetimes import problem_of
from tvm_megcc.memory.portfolio import plan
from tvm_megcc.memory.problem import Problem, lower_bound
from tvm_megcc.program import Location, Program, Storage, Tensor, sized


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
    found = [problem_of(sized(program, v), clobber_inputs) for v in samples(program.symbols)]
    problems, ids = [problem for problem, _ in found], found[0][1]
    share = time_limit / len(problems)
    orders = [below_order(p, plan(p, planner, share).offsets) for p in problems]
    best = min(orders, key=lambda order: max(_waste(order, p) for p in problems))
    validate_order(problems[0], best)
    return _stacked(program, problems[0], ids, best)


def arena_bytes(program: Program, values: Mapping[str, int]) -> int:
    """Bytes of arena that a stacked program takes for these sizes, as the VM works them out."""
    return placed(program, values)[1]


def placed(program: Program, values: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """The address of each of a stacked program's ``storages`` for these sizes, and the arena."""
    sizes = [0] * len(program.storages)
    for tensor in sized(program, values).tensors:
        if tensor.location.space == "block":
            end = tensor.location.offset + tensor.nbytes
            sizes[tensor.location.index] = max(sizes[tensor.location.index], int(end))  # type: ignore[arg-type]
    order = BelowOrder(
        sequence=tuple(range(len(sizes))),
        below=tuple(s.below for s in program.storages),
        alignments=tuple(s.alignment for s in program.storages),
    )
    return addresses(order, sizes)


def _waste(order: BelowOrder, problem: Problem) -> float:
    """Arena of the order for the sizes of `problem` over the least that any plan takes."""
    _, arena = addresses(order, [b.size for b in problem.intervals])
    return arena / max(lower_bound(problem), 1)


def _stacked(
    program: Program, problem: Problem, ids: tuple[int, ...], order: BelowOrder
) -> Program:
    """`program` with blocks numbered in an order in which each stands on smaller numbers."""
    number = {block: k for k, block in enumerate(order.sequence)}
    storages = tuple(
        Storage(
            name=problem.intervals[block].name,
            alignment=order.alignments[block],
            below=tuple(sorted(number[b] for b in order.below[block])),
            first=problem.intervals[block].first,
            last=problem.intervals[block].last,
        )
        for block in order.sequence
    )
    home = {ids[block]: k for block, k in number.items()}

    def moved(tensor: Tensor) -> Tensor:
        at = tensor.location
        if at.space != "arena":
            return tensor
        # What no port and no call touches has no block; nobody asks where it is.
        where = Location("block", home.get(at.index, 0), at.offset)
        return replace(tensor, location=where)

    return replace(program, tensors=tuple(map(moved, program.tensors)), storages=storages)
