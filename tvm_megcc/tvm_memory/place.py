"""Placement of allocations: at offsets of one arena per device, or in storages used in turns.

Enters: `Allocation`s and what their consumers can bear. Leaves: `Placed` per allocation. Of the
plans that are possible, the one with the fewest bytes wins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tvm
from tvm import tirx

from tvm_megcc.memory import Interval, Problem, plan
from tvm_megcc.tvm_memory.liveness import Allocation

#: A storage serves a tensor up to this many times larger or smaller, as in TVM's StorageAllocator.
MATCH_RANGE = 16


@dataclass(frozen=True, eq=False, slots=True)
class Storage:
    """An ``alloc_storage`` of `size` bytes; `home` says in which sequence of bindings it stands."""

    size: int | tirx.PrimExpr
    device: int
    scope: str
    home: int = 0


@dataclass(frozen=True, slots=True)
class Placed:
    """Place of an allocation; `rebased` if the offset must be folded into the pointer."""

    storage: Storage
    offset: int = 0
    rebased: bool = False


def place(
    found: Sequence[Allocation],
    bears_offset: Callable[[Allocation], bool],
    may_rebase: Callable[[Allocation], bool],
) -> list[Placed]:
    """A place for every allocation, in their order.

    Parameters
    ----------
    found
        The allocations of one function.
    bears_offset
        Whether every user of an allocation takes it at any offset that is a multiple of 64.
    may_rebase
        Whether ``ensure_zero_offset`` is free of copies on the allocation's device.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, a in enumerate(found):
        kind = () if isinstance(a.size, int) else (a.home, _class_of(a, found))
        groups.setdefault((a.device, a.scope, *kind), []).append(i)
    placed: dict[int, Placed] = {}
    for members in groups.values():
        group = [found[i] for i in members]
        if isinstance(group[0].size, int):
            free = [bears_offset(a) for a in group]
            movable = [f or may_rebase(a) for f, a in zip(free, group, strict=True)]
            places = _best(group, movable, free)
        else:
            places = _in_turns(group)
        placed.update(zip(members, places, strict=True))
    return [placed[i] for i in range(len(found))]


def _best(group: list[Allocation], movable: list[bool], free: list[bool]) -> list[Placed]:
    """The smaller of an arena (beside storages for what cannot be moved) and storages alone."""
    storages = _storages(group)
    split: dict[int, Placed] = {}
    inside = [i for i, moves in enumerate(movable) if moves]
    if inside:
        for i, p in zip(inside, _arena([group[i] for i in inside]), strict=True):
            split[i] = Placed(p.storage, p.offset, p.offset != 0 and not free[i])
    outside = [i for i, moves in enumerate(movable) if not moves]
    split.update(zip(outside, _storages([group[i] for i in outside]), strict=True))
    arena = [split[i] for i in range(len(group))]
    return arena if total(arena) <= total(storages) else storages


def total(placed: Sequence[Placed]) -> int:
    """Bytes of the storages of known size."""
    sizes = {id(p.storage): p.storage.size for p in placed}
    return sum(size for size in sizes.values() if isinstance(size, int))


def _arena(group: list[Allocation]) -> list[Placed]:
    solution = plan(
        Problem(tuple(Interval(f"{i}", a.first, a.last, a.size) for i, a in enumerate(group)))
    )
    # TVM checks the end of tensors that nobody touches, too, so the arena holds these as well.
    ends = [o + a.size for o, a in zip(solution.offsets, group, strict=True)]
    storage = Storage(max(solution.arena_bytes, *ends), group[0].device, group[0].scope)
    return [Placed(storage, offset) for offset in solution.offsets]


def _storages(group: list[Allocation]) -> list[Placed]:
    """Storages used in turns: the better of first come and largest first."""
    if not group:
        return []
    choices = (_first_come(group), _largest_first(group))
    bins = min(choices, key=lambda c: sum(max(group[i].size for i in b) for b in c))
    placed: dict[int, Placed] = {}
    for members in bins:
        size = max(group[i].size for i in members)
        storage = Storage(size, group[0].device, group[0].scope)
        placed.update((i, Placed(storage)) for i in members)
    return [placed[i] for i in range(len(group))]


def _first_come(group: list[Allocation]) -> list[list[int]]:
    """As TVM's StorageAllocator: the smallest free storage that suffices, else grow the largest."""
    bins: list[list[int]] = []
    for i in sorted(range(len(group)), key=lambda i: group[i].first):
        size = group[i].size
        free = []
        for b in bins:
            held = max(group[j].size for j in b)
            near = size // MATCH_RANGE <= held <= size * MATCH_RANGE
            if near and max(group[j].last for j in b) <= group[i].first:
                free.append((held, b))
        large = [f for f in free if f[0] >= size]
        if free:
            held, chosen = min(large, key=_held) if large else max(free, key=_held)
            chosen.append(i)
        else:
            bins.append([i])
    return bins


def _held(row: tuple[int, list[int]]) -> int:
    return row[0]


def _largest_first(group: list[Allocation]) -> list[list[int]]:
    """Greedy by size for shared objects (arXiv 2001.03288): no storage ever grows."""
    bins: list[list[int]] = []
    for i in sorted(range(len(group)), key=lambda i: (-group[i].size, group[i].first)):
        a = group[i]
        for b in bins:
            if all(a.first >= group[j].last or group[j].first >= a.last for j in b):
                b.append(i)
                break
        else:
            bins.append([i])
    return bins


def _in_turns(group: list[Allocation]) -> list[Placed]:
    """Storages for tensors of one symbolic size: as many as are live at once."""
    ends: list[tuple[Storage, int]] = []
    placed: dict[int, Placed] = {}
    for i in sorted(range(len(group)), key=lambda i: group[i].first):
        a = group[i]
        free = next((n for n, (_, end) in enumerate(ends) if end <= a.first), None)
        if free is None:
            free = len(ends)
            ends.append((Storage(a.size, a.device, a.scope, a.home), 0))
        ends[free] = (ends[free][0], a.last)
        placed[i] = Placed(ends[free][0])
    return [placed[i] for i in range(len(group))]


def _class_of(a: Allocation, found: Sequence[Allocation]) -> int:
    """The index of the first allocation that provably has the symbolic size of `a`."""
    analyzer = tvm.sym.Analyzer()
    for i, other in enumerate(found):
        if not isinstance(other.size, int) and other.home == a.home:
            if other is a or analyzer.can_prove_equal(other.size, a.size):
                return i
    raise AssertionError("an allocation has the size of itself")
