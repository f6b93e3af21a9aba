"""Storages of a program before planning: their uses, and merging of two."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from itertools import accumulate

from tvm_megcc.core.program import (
    Location,
    Program,
    Tensor,
    live_parts,
    live_steps,
    shared_by_loops,
    touches,
)
from tvm_megcc.dims import Size, maximum


@dataclass(frozen=True, slots=True)
class Usage:
    """First and last call that use a storage; whether ports lie in it."""

    first: int
    last: int
    is_input: bool
    is_output: bool


class Storages:
    """A mutable view of a program's tensors while storages are merged.

    ``usage`` is indexed by storage id. Merging moves every tensor of one storage into another.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.tensors: list[Tensor] = list(program.tensors)
        self.members: dict[int, list[int]] = {}
        for index, tensor in enumerate(self.tensors):
            if tensor.location.space == "arena":
                self.members.setdefault(tensor.location.index, []).append(index)
        self.usage = self._usage()
        self._sizes: dict[int, Size] = {}
        self._touches: dict[int, tuple[int, int]] = {}  # of the program: copies share it

    def _touched(self) -> dict[int, tuple[int, int]]:
        if not self._touches:
            self._touches.update(touches(self.program))
        return self._touches

    def _usage(self) -> dict[int, Usage]:
        live = live_steps(self.program)
        inputs = {self.storage(p.tensor) for p in self.program.inputs}
        outputs = {self.storage(p.tensor) for p in self.program.outputs}
        return {s: Usage(*live.get(s, (0, 0)), s in inputs, s in outputs) for s in self.members}

    def storage(self, tensor: int) -> int | None:
        """Storage id of a tensor, or None when it does not live in the arena."""
        location = self.tensors[tensor].location
        return location.index if location.space == "arena" else None

    def size(self, storage: int) -> Size:
        """Bytes from the start of the storage to the end of its last tensor."""
        if storage not in self._sizes:
            rows = (self.tensors[t] for t in self.members[storage])
            self._sizes[storage] = maximum(*(t.location.offset + t.nbytes for t in rows))
        return self._sizes[storage]

    def copy(self) -> Storages:
        """The same storages, to be merged on trial."""
        twin = copy.copy(self)
        twin.tensors, twin.usage = list(self.tensors), dict(self.usage)
        twin.members = {s: list(rows) for s, rows in self.members.items()}
        twin._sizes = dict(self._sizes)
        return twin

    def peak(self, io: str) -> int:
        """Most bytes of the arena that are live during one call."""
        return max(self.pressure(io), default=0)

    def pressure(self, io: str) -> list[int]:
        """Bytes of the arena that are live during each call, of a program without symbols.

        With ``io="caller"`` the storages of ports do not count: `caller_ports` moves them out.
        """
        change: dict[int, int] = {}
        end = len(self.program.calls)
        for storage, use in self.usage.items():
            if io == "caller" and (use.is_input or use.is_output):
                continue
            size = int(self.size(storage))  # type: ignore[arg-type]
            first = 0 if use.is_input else use.first
            last = end if use.is_output else use.last + 1
            change[first] = change.get(first, 0) + size
            change[last] = change.get(last, 0) - size
        for storage in shared_by_loops(self.program, self.tensors):
            use, size = self.usage[storage], int(self.size(storage))  # type: ignore[arg-type]
            if use.is_input or use.is_output:
                continue
            span = use.first, use.last
            for part in live_parts(self.tensors, self.members[storage], self._touched(), span):
                less = size - (part.hi - part.lo)
                change[part.first] = change.get(part.first, 0) - less
                change[part.last] = change.get(part.last, 0) + less
        return list(accumulate(change.get(step, 0) for step in range(end)))

    def merge(self, source: int, target: int, offset: Size) -> None:
        """Let every tensor of `source` lie in `target`, `offset` bytes from its start."""
        for index in self.members[source]:
            tensor = self.tensors[index]
            at = Location("arena", target, tensor.location.offset + offset)
            self.tensors[index] = replace(tensor, location=at)
        self.members[target] += self.members.pop(source)
        for changed in (source, target):
            self._sizes.pop(changed, None)
        one, two = self.usage[target], self.usage.pop(source)
        self.usage[target] = Usage(
            min(one.first, two.first),
            max(one.last, two.last),
            one.is_input or two.is_input,
            one.is_output or two.is_output,
        )

    def move(self, storage: int, to: Location) -> None:
        """Let every tensor of `storage` lie at `to`, outside the arena."""
        for index in self.members.pop(storage):
            tensor = self.tensors[index]
            at = Location(to.space, to.index, to.offset + tensor.location.offset)
            self.tensors[index] = replace(tensor, location=at)
        self.usage.pop(storage)
        self._sizes.pop(storage, None)

    def result(self) -> Program:
        return replace(self.program, tensors=tuple(self.tensors))
