"""The least arena that a streamed execution of a program can have.

Enters: a `Program` from ``lower`` whose sizes are numbers. Leaves: bytes, a lower bound.

Example
-------
>>> least_arena(reorder(lowered, "caller"), forward(lowered, "caller"))    # doctest: +SKIP
58112

What an execution may be. The calls, in their order, are cut into runs. A run is one call, or a loop
in which each call computes the next rows of its result. A tensor between runs is whole in memory. A
tensor inside of a loop is a line buffer, which has its place while the loop runs. No row is
computed twice, and kernels are those of the program.

What is counted. `_Bound.loop` is the bound of one run, `least_arena` takes the best cuts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import cast

from tvm_megcc.codegen_c.sources import kernel_operator
from tvm_megcc.core.program import Call, Program, operands_of
from tvm_megcc.streaming.line_buffers import Group, group_of
from tvm_megcc.streaming.row_rules import RowRule, Rules

#: Operators whose inputs may lie in their result's memory, each at a place of its own.
_MOVING = ("concat", "slice", "pad", "transpose")


@dataclass(frozen=True, slots=True)
class _Use:
    """A storage of the arena: its bytes, the step that writes it and the last that reads it."""

    bytes: int
    first: int  # -1: before the program
    last: int


def least_arena(program: Program, forwarded: Program) -> int:
    """Bytes of the arena below which no streamed execution of `program` comes.

    Parameters
    ----------
    program : Program
        In the order of its calls, each value in a storage of its own.
    forwarded : Program
        The same after forwarding with ports in buffers of the caller. Tensors that lie in such a
        buffer there cost nothing.
    """
    bound = _Bound(program, forwarded)
    steps = len(program.calls)
    best = [0] * (steps + 1)
    for end in range(1, steps + 1):
        least = max(best[end - 1], bound.single(end - 1))
        for first in range(end - 2, -1, -1):
            if max(best[first], bound.whole(first, end)) < least:
                least = min(least, max(best[first], bound.loop(first, end)))
        best[end] = least
    return best[steps]


class _Bound:
    """Bounds of the runs of one program."""

    def __init__(self, program: Program, forwarded: Program) -> None:
        self.program, self.rules = program, Rules()
        #: Storages that are read by concatenations and the like -> storages of these results.
        self.moved: dict[int, set[int]] = {}
        self.uses = self._uses(forwarded)
        for call in program.calls:
            if isinstance(call, Call) and self._is_moving(call):
                for tensor in call.reads:
                    if (storage := self.storage(tensor)) is not None:
                        self.moved.setdefault(storage, set()).update(self._of(call.writes))

    def storage(self, tensor: int) -> int | None:
        at = self.program.tensors[tensor].location
        return at.index if at.space == "arena" else None

    def _of(self, tensors: tuple[int, ...]) -> set[int]:
        return {s for t in tensors if (s := self.storage(t)) is not None}

    def _is_moving(self, call: Call) -> bool:
        template = self.program.kernels[call.kernel].template
        return not template or kernel_operator(template) in _MOVING

    def _uses(self, forwarded: Program) -> dict[int, _Use]:
        """Storages that are in the arena; workspaces are counted with their calls."""
        program = self.program
        ports = self._of(tuple(p.tensor for p in (*program.inputs, *program.outputs)))
        for before, after in zip(program.tensors, forwarded.tensors, strict=False):
            if before.location.space == "arena" and after.location.space != "arena":
                ports.add(before.location.index)
        scratch = {c.workspace for c in program.calls if isinstance(c, Call)}
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for step, call in enumerate(program.calls):
            for storage in self._of(tuple(t for t in operands_of(call) if t not in scratch)):
                first.setdefault(storage, step)
                last[storage] = step
        sizes: dict[int, int] = {}
        for tensor in program.tensors:
            at = tensor.location
            if at.space == "arena" and at.index in first and at.index not in ports:
                end = cast(int, at.offset) + cast(int, tensor.nbytes)
                sizes[at.index] = max(sizes.get(at.index, 0), end)
        return {s: _Use(size, first[s], last[s]) for s, size in sizes.items()}

    def _sum(self, storages: set[int]) -> int:
        """Bytes of storages, without those that may be parts of others of them."""
        alone = (s for s in storages if not self.moved.get(s, set()) & storages)
        return sum(self.uses[s].bytes for s in alone)

    def whole(self, first: int, end: int) -> int:
        """Bytes of whole tensors around steps [first, end).

        Results may take the place of inputs that die, row by row: the larger sum counts.
        """
        uses = self.uses
        before = {s for s, u in uses.items() if u.first < first <= u.last}
        after = {s for s, u in uses.items() if u.first < end <= u.last}
        return max(self._sum(before), self._sum(after))

    def single(self, step: int) -> int:
        """Bytes of a step that is a run of its own."""
        call = self.program.calls[step]
        found = self.whole(step, step + 1)
        if not isinstance(call, Call):
            return found
        rule = self.rules.of(self.program, call, None)
        kernel = self.program.kernels[call.kernel]
        overlaps = rule is not None or kernel.inplace or call.overlap is not None
        if not overlaps and not self._is_moving(call) and self._group(step, step + 1) is None:
            live = {s for s, u in self.uses.items() if u.first <= step <= u.last}
            found = max(found, self._sum(live))
        group = self._group(step, step + 1)
        scratch = self._workspace(call, None if group is None else group.rules[0])
        return found + scratch

    def _workspace(self, call: Call, rule: RowRule | None) -> int:
        """Bytes of a call's workspace; of one that follows the rows, for the fewest."""
        if call.workspace is None:
            return 0
        held = cast(int, self.program.tensors[call.workspace].nbytes)
        if rule is None or rule.workspace is None:
            return held
        reach = (rule.tile - 1) * rule.window.stride // rule.window.up + rule.window.reach
        return min(held, rule.workspace(rule.tile, min(reach, rule.window.height)))

    def _group(self, first: int, end: int) -> Group | None:
        return group_of(self.program, first, end, self.rules)

    def loop(self, first: int, end: int) -> int:
        """Bytes of a loop over rows of steps [first, end).

        The whole tensors around it, for each line buffer the rows that stay from one iteration to
        the next, and the rows that the call with the most of them adds to these. Where the calls
        have no rows, more than any arena.
        """
        group = self._group(first, end)
        if group is None:
            return sum(u.bytes for u in self.uses.values())
        rows = _Rows(self, group)
        return self.whole(first, end) + rows.kept + rows.step


class _Rows:
    """Rows of the line buffers of one loop."""

    def __init__(self, bound: _Bound, group: Group) -> None:
        self.bound, self.group = bound, group
        self.calls = group.calls()
        self.inner: dict[int, tuple[int, int]] = {}  # storage -> rows, bytes of one
        for call, rule in self.calls:
            (storage,) = bound._of(call.writes)
            use = bound.uses.get(storage)
            if use is not None and use.last < group.last:
                self.inner[storage] = rule.height, use.bytes // rule.height

    @cached_property
    def sources(self) -> list[list[tuple[int, bool]]]:
        """Of each call: the line buffers that it reads, and whether by its window."""
        return [list(self._inputs(number)) for number in range(len(self.calls))]

    def _inputs(self, number: int) -> Iterator[tuple[int, bool]]:
        call, rule = self.calls[number]
        for k in (*rule.windowed, *rule.alike):
            storage = self.bound.storage(call.operands[k])
            if storage in self.inner:
                yield cast(int, storage), k in rule.windowed

    def output(self, number: int) -> int:
        return cast(int, self.bound.storage(self.calls[number][0].operands[-1]))

    @cached_property
    def readers(self) -> dict[int, list[tuple[int, bool]]]:
        """Of each line buffer: the calls that read it, and whether by their windows."""
        found: dict[int, list[tuple[int, bool]]] = {}
        for number in range(len(self.calls)):
            for storage, windowed in self.sources[number]:
                found.setdefault(storage, []).append((number, windowed))
        return found

    @cached_property
    def kept(self) -> int:
        """Bytes that stay between iterations."""
        total = 0
        for storage, (height, row) in self.inner.items():
            if storage not in self.bound.moved or len(self.readers.get(storage, ())) == 1:
                total += min(height, self.stays[storage]) * row
        return total

    @cached_property
    def stays(self) -> dict[int, int]:
        """Rows of each line buffer that stay from one iteration to the next, while all go on."""
        return {storage: self._stay(storage) for storage in self.inner}

    def _stay(self, storage: int) -> int:
        """Rows of a line buffer that stay: of all its readers, those that the latest one needs.

        That reader's result has rows up to some r. All that this row depends on by any way has been
        computed, and the rows of the window of row r + 1 are still there.
        """
        one = Fraction(1)
        # Rows up to scale * r + more are there where the storage has rows up to r.
        needs: dict[int, tuple[Fraction, Fraction]] = {storage: (one, Fraction(0))}
        most = 0
        readers = self.readers.get(storage, [(0, True)])
        for number in range(readers[0][0], readers[-1][0] + 1):
            rule = self.calls[number][1]
            found: list[tuple[Fraction, Fraction]] = []
            for source, windowed in self.sources[number]:
                if source in needs:
                    scale, more = needs[source]
                    ratio, least = _need(rule) if windowed else (one, Fraction(0))
                    found.append((scale * ratio, scale * least + more))
            if not found:
                continue
            scale, more = max(found, key=lambda need: need[1])
            needs[self.output(number)] = scale, more
            for source, windowed in self.sources[number]:
                if source == storage:
                    ratio, least = _need(rule) if windowed else (one, Fraction(0))
                    if ratio == scale:
                        most = max(most, ceil(more + (rule.window.pad if windowed else 0)))
        return most

    @cached_property
    def step(self) -> int:
        """Most bytes that one call adds to what stays: new rows that it reads, or its result's.

        Its result may take the place of rows that it reads for the last time.
        """
        most = 0
        for number, (call, rule) in enumerate(self.calls):
            read = 0
            for storage, windowed in self.sources[number]:
                if len(self.readers[storage]) == 1:
                    window = rule.window
                    stride = ceil(Fraction(window.stride, window.up)) if windowed else 1
                    height, row = self.inner[storage]
                    new = min(stride, window.reach) if windowed else 1
                    read += new * row if self.stays[storage] + new <= height else 0
            made = 0
            if (output := self.output(number)) in self.inner:
                height, row = self.inner[output]
                made = row if self.stays[output] < height else 0
            most = max(most, max(read, made) + self.bound._workspace(call, rule))
        return most


def _need(rule: RowRule) -> tuple[Fraction, Fraction]:
    """Rows of the operand for rows up to r of the result: ratio * r + the second number."""
    window = rule.window
    ratio = Fraction(window.stride, window.up)
    return ratio, window.reach - window.pad - ratio - Fraction(window.up - 1, window.up)
