"""Overlap: a window operator writes its rows over input rows that it has read.

A convolution, depthwise or pooling kernel that goes through its input from the first row to the
last needs ever less of it. So its output may begin where the input does, or a few rows before,
in the memory of an input that dies in the call; how many bytes before is the call's ``overlap``,
from the kernel's header comment. Input and output together then take the larger of the two and
these rows, and not the sum.

Both are one storage from then on, and all of it lives as long as any part. That is worth it where
it lowers the peak of live bytes, alone or together with its neighbours (a chain of convolutions of
one size gains only as a whole), and is done there. Symbolic sizes: the choice that is best for one
of some usual sizes, or for the largest, and least bad for the others.

A loop over bands of rows overlaps as a call does, with the image and the result that its `Loop`
names. Before the loop only the image's bytes are live then (`core.program.live_bytes`).

A call that overlaps is not split among threads. A program for several threads overlaps only calls
that together are `WHOLE_SHARE` of its work, or too small to be split anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from tvm_megcc.core.program import (
    ALIGNMENT,
    Call,
    Loop,
    Program,
    Step,
    largest_sizes,
    loops,
    operands_of,
    sized,
    usual_sizes,
    waits_for_data,
)
from tvm_megcc.core.splitting import parts
from tvm_megcc.dims import ceildiv, typical
from tvm_megcc.forward.merging import Storages

#: Number of calls before and after the peak's that are tried together with it.
REACH = 6

#: Part of the smaller storage that may be outside of the larger one, where a loop overlaps.
INSIDE = 4

#: Share of a program's work that may run whole to save memory.
WHOLE_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class _Budget:
    """Work of calls that can no longer be split, and the limit of its sum."""

    losses: tuple[int, ...]
    most: float

    @staticmethod
    def of(program: Program, threads: int) -> _Budget:
        """Budget of a program without symbols."""
        costs = [typical(c.work) * c.cost if isinstance(c, Call) else 0 for c in program.calls]
        splits = [threads > 1 and isinstance(c, Call) and parts(c) > 1 for c in program.calls]
        losses = tuple(cost if split else 0 for cost, split in zip(costs, splits, strict=True))
        return _Budget(losses, WHOLE_SHARE * sum(costs))

    def allows(self, steps: Iterable[int]) -> bool:
        return sum(self.losses[s] for s in steps) <= self.most


def overlap_windows(program: Program, io: str, threads: int = 1) -> Program:
    """Let a call write over a part of its input that it has read, where that lowers the peak.

    `io` says who owns inputs and outputs, as in `MemoryOptions`.
    """
    calls = tuple(_asked(program, step) for step in program.calls)
    if not any(_ends(c) for c in calls):
        return program
    asked = replace(program, calls=calls)
    values = usual_sizes(program)
    largest = largest_sizes(program)
    if largest is not None and largest not in values:
        values.append(largest)
    at_size = [sized(asked, one) for one in values]
    budgets = [_Budget.of(p, threads) for p in at_size]
    found = [_steps(p, io, budget) for p, budget in zip(at_size, budgets, strict=True)]
    allowed = [steps for steps in found if all(b.allows(steps) for b in budgets)]
    choices = dict.fromkeys([(), *allowed])
    peaks = {steps: [_peak(p, steps, io) for p in at_size] for steps in choices}
    best = [min(at_one) for at_one in zip(*peaks.values(), strict=True)]

    def regret(steps: tuple[int, ...]) -> float:
        pairs = zip(peaks[steps], best, strict=True)
        return max(peak / low if low else 1.0 for peak, low in pairs)

    storages = Storages(program)
    for step in min(peaks, key=regret):
        _merge(storages, step)
    return storages.result()


def _asked(program: Program, step: Step) -> Step:
    """`step` without overlap if the size of its input or output depends on data."""
    if not isinstance(step, Call) or step.overlap is None:
        return step
    ends = (program.tensors[t] for t in (step.operands[0], step.operands[-1]))
    return replace(step, overlap=None) if any(waits_for_data(program, t) for t in ends) else step


def _steps(program: Program, io: str, budget: _Budget) -> tuple[int, ...]:
    """Indices of calls whose input and output overlap, for a program of fixed sizes."""
    storages = Storages(program)
    chosen: set[int] = set()
    tried: set[int] = set()
    pairs = [(first, last) for first, last in loops(program) if _ends(program.calls[first])]
    around = {s: first for first, last in pairs for s in range(first, last + 1)}
    while True:
        live = storages.pressure(io)
        worst = max(live, default=0)
        peaks = dict.fromkeys(around.get(s, s) for s, size in enumerate(live) if size == worst)
        for step in peaks:
            if step in tried:
                continue
            tried.add(step)
            better = _best(storages, step, io, lambda steps: budget.allows(chosen.union(steps)))
            if better is not None:
                storages, steps = better
                chosen.update(steps)
                tried.clear()
                break
        else:
            return tuple(sorted(chosen))


def _best(
    storages: Storages, step: int, io: str, allowed: Callable[[Sequence[int]], bool]
) -> tuple[Storages, Sequence[int]] | None:
    """Allowed run of calls around `step` that lowers the peak most."""
    found, least = None, _measure(storages, io)
    for steps in filter(allowed, _runs(storages, step)):
        trial = storages.copy()
        if all(_merge(trial, s) for s in steps):
            measure = _measure(trial, io)
            if measure < least:
                found, least = (trial, steps), measure
    return found


def _measure(storages: Storages, io: str) -> tuple[int, int]:
    """Peak, and number of calls at the peak."""
    live = storages.pressure(io)
    worst = max(live, default=0)
    return worst, live.count(worst)


def _runs(storages: Storages, step: int) -> Iterator[list[int]]:
    """Runs of calls that overlap in turn and contain `step`, shortest first."""
    calls = range(len(storages.program.calls))
    pairs = {s: pair for s in calls if (pair := _pair(storages, s)) is not None}
    if step not in pairs:
        return
    after = _chain(pairs, step, 1)
    before = _chain(pairs, step, 0)
    for length in range(len(before) + len(after) + 1):
        for back in range(max(0, length - len(after)), min(length, len(before)) + 1):
            yield [*reversed(before[:back]), step, *after[: length - back]]


def _chain(pairs: dict[int, tuple[int, int]], step: int, end: int) -> list[int]:
    """Calls before (`end` 0) or after (1) `step` that overlap with it in turn."""
    by = {pair[1 - end]: s for s, pair in pairs.items()}
    found = [step]
    while len(found) <= REACH and pairs[found[-1]][end] in by:
        found.append(by[pairs[found[-1]][end]])
    return found[1:]


def _ends(step: Step) -> tuple[int, ...]:
    """The tensor that a call or a loop may write over, and its result; empty where it may not."""
    if isinstance(step, Loop):
        return step.over
    if isinstance(step, Call) and step.overlap is not None and step.n_outputs == 1:
        return step.operands[0], step.operands[-1]
    return ()


def _pair(storages: Storages, step: int) -> tuple[int, int] | None:
    """Storages of the input and output of a call, or of a loop, if they may become one."""
    ends = _ends(storages.program.calls[step])
    if not ends:
        return None
    source, target = (storages.storage(t) for t in ends)
    if source is None or target is None or source == target:
        return None
    dying, fresh = storages.usage[source], storages.usage[target]
    ports = dying.is_input or dying.is_output or fresh.is_input or fresh.is_output
    last = _last(storages.program, step)
    if ports or dying.last != last or fresh.first != step:
        return None
    if any(storages.tensors[t].location.offset != 0 for t in ends):
        return None
    inside = storages.program.calls[step : last + 1]
    return (source, target) if _alone(storages, inside, ends) else None


def _last(program: Program, step: int) -> int:
    """The last step of a loop; a call is its own."""
    is_loop = isinstance(program.calls[step], Loop)
    return next(last for first, last in loops(program) if first == step) if is_loop else step


def _alone(storages: Storages, steps: Sequence[Step], ends: tuple[int, ...]) -> bool:
    """Whether steps use the storages of two tensors by these alone, a call's input once."""
    tensors = storages.tensors
    known = {storages.storage(t): (tensors[t].location, tensors[t].nbytes) for t in ends}
    used = [t for step in steps for t in operands_of(step) if storages.storage(t) in known]
    if len(steps) == 1:
        return len(used) == len(ends)
    own = ((tensors[t].location, tensors[t].nbytes) for t in used)
    return all(here == known[here[0].index] for here in own)


def _merge(storages: Storages, step: int) -> bool:
    """Let the output begin ``overlap`` bytes before the input, if that is sound."""
    pair = _pair(storages, step)
    if pair is None:
        return False
    call = storages.program.calls[step]
    assert isinstance(call, Call | Loop) and call.overlap is not None
    lead = ceildiv(call.overlap, ALIGNMENT) * ALIGNMENT
    if isinstance(call, Loop) and not _fits(storages, pair, cast(int, lead)):
        return False
    storages.merge(*pair, lead)
    return True


def _fits(storages: Storages, pair: tuple[int, int], lead: int) -> bool:
    """Whether one storage of a pair lies in the other's place, but for a part of it.

    Only a part of the two together is live at a time. Were they side by side, other storages could
    not use the rest: it would be above them now, and below them then.
    """
    source, target = (cast(int, storages.size(storage)) for storage in pair)
    most = max(source, target) + min(source, target) // INSIDE
    return max(lead + source, target) <= most


def _peak(program: Program, steps: Sequence[int], io: str) -> int:
    storages = Storages(program)
    for step in steps:
        _merge(storages, step)
    return storages.peak(io)
