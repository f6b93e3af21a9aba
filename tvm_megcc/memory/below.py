"""The order for sizes that are not known yet: which block lies directly below which.

Enters: a plan for some sizes. Leaves: a `BelowOrder`, a relation "a lies below b" that holds a
complete chain of the live blocks at every moment, and so gives a valid plan for *any* sizes: each
block stands on the highest end of those below it. A program of symbolic shapes carries the relation
and computes the addresses when its shapes change.

Source: the PushDown planner of MegEngine and MegCC derives such a relation from a best-fit simulation;
here it comes from any plan, and alignment is counted.

Example
-------
>>> p = Problem((Interval("a", 0, 2, 64), Interval("b", 1, 3, 64)))
>>> order = below_order(p, (64, 0))
>>> addresses(order, (100, 10))
((64, 0), 164)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from tvm_megcc.errors import InputError
from tvm_megcc.memory.problem import Interval, Problem, align


@dataclass(frozen=True, slots=True)
class BelowOrder:
    """Addresses as a function of sizes.

    Attributes
    ----------
    sequence : tuple of int
        All blocks, each after everything that lies below it.
    below : tuple of tuple of int
        Per block, the blocks directly below it; there are at most twice as many pairs as the
        blocks have pieces.
    alignments : tuple of int
        Bytes, per block.
    """

    sequence: tuple[int, ...]
    below: tuple[tuple[int, ...], ...]
    alignments: tuple[int, ...]


def order(problem: Problem) -> BelowOrder:
    """The relation of the plan that `plan` finds for the sizes in `problem`.

    Raises
    ------
    InputError
        When a block has a fixed offset.
    """
    from tvm_megcc.memory.portfolio import plan

    return below_order(problem, plan(problem).offsets)


def below_order(problem: Problem, offsets: Sequence[int]) -> BelowOrder:
    """The relation of the plan `offsets`, in O(n log n) for the usual arenas.

    A block is live during all of its interval but the gaps that have no window: which bytes a window
    means is not known before the sizes are.
    """
    blocks = problem.intervals
    for block in blocks:
        if block.offset is not None:
            raise InputError(
                f"block '{block.name}' is fixed at {block.offset}: an order for any sizes cannot"
                " keep it there; leave its offset free"
            )
    placed = zip(blocks, offsets, strict=True)
    keys = [(offset, offset + b.size, k) for k, (b, offset) in enumerate(placed)]
    below: list[set[int]] = [set() for _ in blocks]
    live: list[tuple[int, int, int]] = []
    events = sorted(e for k, b in enumerate(blocks) for e in _spans(b, keys[k]))
    for _, starts, key in events:
        at = bisect_left(live, key)
        if not starts:
            del live[at]
            continue
        if at > 0:
            below[key[2]].add(live[at - 1][2])
        if at < len(live):
            below[live[at][2]].add(key[2])
        live.insert(at, key)
    return BelowOrder(
        tuple(k for _, _, k in sorted(keys)),
        tuple(tuple(sorted(under)) for under in below),
        tuple(b.alignment for b in blocks),
    )


def addresses(order: BelowOrder, sizes: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Offsets and arena of blocks of these `sizes` (bytes), each pushed down onto those below it."""
    if len(sizes) != len(order.sequence):
        raise InputError(f"{len(sizes)} sizes for an order of {len(order.sequence)} blocks")
    offsets = [0] * len(sizes)
    for block in order.sequence:
        top = max((offsets[b] + sizes[b] for b in order.below[block]), default=0)
        offsets[block] = align(top, order.alignments[block])
    ends = [o + size for o, size in zip(offsets, sizes, strict=True) if size]
    return tuple(offsets), max(ends, default=0)


def validate_order(problem: Problem, order: BelowOrder) -> None:
    """Check that `order` serves any sizes of `problem`'s blocks, without trusting who made it.

    At every moment all live blocks must be in one chain of the relation.

    Raises
    ------
    ValueError
        When the sequence is not an order of the blocks, or two blocks that are live at once are not
        above one another.
    """
    n = len(problem.intervals)
    if sorted(order.sequence) != list(range(n)) or len(order.below) != n:
        raise ValueError(f"the sequence does not hold each of {n} blocks once")
    if order.alignments != tuple(b.alignment for b in problem.intervals):
        raise ValueError("the alignments are not those of the problem")
    place = {block: k for k, block in enumerate(order.sequence)}
    under: list[int] = [0] * n  # bit set of all blocks below, transitively
    for block in order.sequence:
        for b in order.below[block]:
            if place[b] >= place[block]:
                raise ValueError(f"block {block} comes before block {b}, which lies below it")
            under[block] |= under[b] | 1 << b
    events = sorted(e for k, b in enumerate(problem.intervals) for e in _spans(b, (place[k], 0, k)))
    live: list[tuple[int, int, int]] = []
    for _, starts, key in events:
        at = bisect_left(live, key)
        if not starts:
            del live[at]
            continue
        live.insert(at, key)
        for low, high in zip(live[max(at - 1, 0) : at + 1], live[at : at + 2], strict=False):
            if low != high and not under[high[2]] >> low[2] & 1:
                a, b = problem.intervals[low[2]].name, problem.intervals[high[2]].name
                raise ValueError(f"{a} and {b} are live at once and neither is above the other")


def _spans(
    block: Interval, key: tuple[int, int, int]
) -> list[tuple[int, int, tuple[int, int, int]]]:
    """(step, whether it starts, key) of the block, also when it holds no byte at these sizes."""
    events: list[tuple[int, int, tuple[int, int, int]]] = []
    start = block.first
    absent = [(g.first, g.last) for g in block.gaps if g.window is None]
    for first, last in [*sorted(absent), (block.last, block.last)]:
        if start < min(first, block.last):
            events += [(start, 1, key), (min(first, block.last), 0, key)]
        start = max(start, last)
    return events
