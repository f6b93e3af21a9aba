"""The order for sizes that are not known yet: which block lies directly below which.

Enters: a plan for some sizes. Leaves: a `BelowOrder`, a relation "a lies below b" that holds a
complete chain of the live blocks at every moment, and so gives a valid plan for *any* sizes: each
block stands on the highest end of those below it. A program of symbolic shapes carries the relation
and computes the addresses when its shapes change.

Source: the PushDown planner of MegEngine and MegCC derives such a relation from a best-fit
simulation; here it comes from any plan, and alignment is counted.

Example
-------
>>> p = Problem((Interval("a", 0, 2, 64), Interval("b", 1, 3, 64)))
>>> order = below_order(p, (64, 0))
>>> addresses(order, (100, 10))
((64, 0), 164)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm_megcc.errors import InputError
from tvm_megcc.memory.block import Interval, align
from tvm_megcc.memory.problem import Event, Problem, Row, starting


@dataclass(frozen=True, slots=True)
class BelowOrder:
    """Addresses as a function of sizes.

    Attributes
    ----------
    sequence : tuple of int
        The blocks that are ever live, each after everything that lies below it.
    below : tuple of tuple of int
        Per block, the blocks directly below it; there are at most twice as many pairs as the
        blocks have pieces.
    alignments : tuple of int
        Bytes, per block.
    """

    sequence: tuple[int, ...]
    below: tuple[tuple[int, ...], ...]
    alignments: tuple[int, ...]


def below_order(problem: Problem, offsets: Sequence[int]) -> BelowOrder:
    """The relation of the plan `offsets`, in O(n log n) for the usual arenas.

    A block is live during all of its interval but the gaps that have no window: which bytes a
    window means is not known before the sizes are.
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
    for live, at, key in starting(e for k, b in enumerate(blocks) for e in _spans(b, keys[k])):
        if at > 0:
            below[key[2]].add(live[at - 1][2])
        if at < len(live):
            below[live[at][2]].add(key[2])
    return BelowOrder(
        tuple(k for _, _, k in sorted(keys) if blocks[k].first < blocks[k].last),
        tuple(tuple(sorted(under)) for under in below),
        tuple(b.alignment for b in blocks),
    )


def addresses(order: BelowOrder, sizes: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Offsets and arena of blocks of these `sizes` (bytes), each down on those below it."""
    if len(sizes) != len(order.below):
        raise InputError(f"{len(sizes)} sizes for an order of {len(order.below)} blocks")
    offsets = [0] * len(sizes)
    for block in order.sequence:
        top = max((offsets[b] + sizes[b] for b in order.below[block]), default=0)
        offsets[block] = align(top, order.alignments[block])
    ends = (offsets[block] + sizes[block] for block in order.sequence if sizes[block])
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
    live_blocks = [k for k, b in enumerate(problem.intervals) if b.first < b.last]
    if sorted(order.sequence) != live_blocks or len(order.below) != n:
        raise ValueError(f"the sequence does not hold each of {len(live_blocks)} live blocks once")
    if order.alignments != tuple(b.alignment for b in problem.intervals):
        raise ValueError("the alignments are not those of the problem")
    place = {block: k for k, block in enumerate(order.sequence)}
    under: list[int] = [0] * n  # bit set of all blocks below, transitively
    for block in order.sequence:
        for b in order.below[block]:
            if place.get(b, n) >= place[block]:
                raise ValueError(f"block {block} comes before block {b}, which lies below it")
            under[block] |= under[b] | 1 << b
    events = (e for k in live_blocks for e in _spans(problem.intervals[k], (place[k], 0, k)))
    for live, at, key in starting(events):
        near = [*live[max(at - 1, 0) : at], key, *live[at : at + 1]]
        for low, high in zip(near, near[1:], strict=False):
            if not under[high[2]] >> low[2] & 1:
                names = [problem.intervals[key[2]].name for key in (low, high)]
                raise ValueError(f"{' and '.join(names)} are live at once, neither above the other")


def _spans(block: Interval, key: Row) -> list[Event]:
    """Events of the block, also when it holds no byte at these sizes."""
    events: list[Event] = []
    start = block.first
    absent = [(g.first, g.last) for g in block.gaps if g.window is None]
    for first, last in [*sorted(absent), (block.last, block.last)]:
        if start < min(first, block.last):
            events += [(start, 1, key), (min(first, block.last), 0, key)]
        start = max(start, last)
    return events
