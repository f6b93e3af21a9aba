"""A program's memory plan, for people. Enters: a planned `Program`. Leaves: a `MemoryPlan`."""

from __future__ import annotations

from dataclasses import dataclass

from tvm_megcc.program import Program


@dataclass(frozen=True, slots=True)
class Block:
    """A tensor lies in arena bytes ``[offset, offset + nbytes)`` during calls ``[first, last)``."""

    name: str
    offset: int
    nbytes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """All memory of a model, in bytes.

    Attributes
    ----------
    arena_bytes : int
        The one activation buffer.
    peak_live_bytes : int
        The most that is alive during one call: no plan of these tensors can be smaller.
    weight_bytes : int
    blocks : tuple of Block
        In the order in which they come to life.
    """

    arena_bytes: int
    peak_live_bytes: int
    weight_bytes: int
    blocks: tuple[Block, ...]

    def __str__(self) -> str:
        head = (
            f"arena {self.arena_bytes} bytes (peak of live bytes {self.peak_live_bytes}),"
            f" weights {self.weight_bytes} bytes"
        )
        rows = [f"{'offset':>10} {'bytes':>10}  calls        tensor"]
        rows += [
            f"{b.offset:>10} {b.nbytes:>10}  [{b.first}, {b.last})".ljust(36) + f" {b.name}"
            for b in self.blocks
        ]
        return "\n".join([head, *rows])


def memory_plan(program: Program) -> MemoryPlan:
    """Read the plan off a program's tensors; those with one place and lifetime are one block."""
    lives = _lifetimes(program)
    places: dict[tuple[int, int, int], Block] = {}
    for tensor, (first, last) in lives.items():
        t = program.tensors[tensor]
        key = (t.location.offset, first, last)
        known = places.get(key)
        if known is None or known.nbytes < t.nbytes:
            places[key] = Block(t.name, t.location.offset, t.nbytes, first, last)
    blocks = tuple(sorted(places.values(), key=lambda b: (b.first, b.offset, b.last)))
    return MemoryPlan(
        arena_bytes=program.arena_bytes or 0,
        peak_live_bytes=max((_live_bytes(blocks, n) for n in range(len(program.calls))), default=0),
        weight_bytes=sum(len(w.data) for w in program.weights),
        blocks=blocks,
    )


def _lifetimes(program: Program) -> dict[int, tuple[int, int]]:
    """Arena tensors in use, each with its half-open range of calls."""
    end = len(program.calls)
    uses: dict[int, list[int]] = {}
    for number, call in enumerate(program.calls):
        scratch = () if call.workspace is None else (call.workspace,)
        for tensor in (*call.operands, *scratch):
            uses.setdefault(tensor, []).append(number)
    for port in program.inputs:
        uses.setdefault(port.tensor, []).append(0)
    for port in program.outputs:
        uses.setdefault(port.tensor, []).append(max(end - 1, 0))
    return {
        tensor: (min(numbers), max(numbers) + 1)
        for tensor, numbers in sorted(uses.items())
        if program.tensors[tensor].location.space == "arena"
    }


def _live_bytes(blocks: tuple[Block, ...], call: int) -> int:
    """Bytes of the union of the live blocks: views overlap, and count once."""
    total, reached = 0, 0
    for block in sorted((b for b in blocks if b.first <= call < b.last), key=lambda b: b.offset):
        end = block.offset + block.nbytes
        total += max(0, end - max(block.offset, reached))
        reached = max(reached, end)
    return total
