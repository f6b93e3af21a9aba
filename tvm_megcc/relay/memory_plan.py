"""A program's memory plan, for people. Enters: a planned `Program`. Leaves: a `MemoryPlan`."""

from __future__ import annotations

from dataclasses import dataclass

from tvm_megcc.core.program import Block, Pool, Program


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """All memory of a model, in bytes.

    Attributes
    ----------
    arena_bytes : int
        All activation buffers together.
    lower_bound : int
        No plan of these blocks can be smaller.
    naive_bytes : int
        What it would take to give every block a place of its own.
    weight_bytes : int
    planner : str
        Which planner won.
    peak_step, peak_call : int, str
        Number and name of a call during which the most bytes are live.
    blocks : tuple of Block
        In the order in which they come to life.
    pools : tuple of Pool
    """

    arena_bytes: int
    lower_bound: int
    naive_bytes: int
    weight_bytes: int
    planner: str
    peak_step: int
    peak_call: str
    blocks: tuple[Block, ...]
    pools: tuple[Pool, ...]

    @property
    def optimal(self) -> bool:
        """Whether it is certain that no plan is smaller."""
        return self.arena_bytes == self.lower_bound

    def live(self, step: int) -> tuple[Block, ...]:
        """The blocks that are live during a call, largest first."""
        found = [b for b in self.blocks if b.first <= step < b.last]
        return tuple(sorted(found, key=lambda b: (-b.bytes, b.pool, b.offset)))

    def __str__(self) -> str:
        verdict = "optimal" if self.optimal else f"at least {self.lower_bound}"
        head = (
            f"arena {self.arena_bytes} bytes ({verdict}; by {self.planner};"
            f" {self.naive_bytes} without sharing), weights {self.weight_bytes} bytes"
        )
        peak = f"peak during call {self.peak_step}, {self.peak_call!r}"
        rows = [f"{'pool':<8} {'offset':>10} {'bytes':>10}  {'calls':<14} tensor"]
        rows += [
            f"{self.pools[b.pool].name:<8} {b.offset:>10} {b.bytes:>10}"
            f"  {f'[{b.first}, {b.last})':<14} {b.name}"
            for b in self.blocks
        ]
        return "\n".join([head, peak, *rows] if self.blocks else [head])


def memory_plan(program: Program) -> MemoryPlan:
    """The `MemoryPlan` of a program, from the plan of ``memory.place``."""
    plan = program.plan
    assert plan is not None and program.arena_bytes is not None, "memory.place has not run"
    calls = program.calls
    return MemoryPlan(
        arena_bytes=program.arena_bytes,
        lower_bound=plan.lower_bound,
        naive_bytes=plan.naive_bytes,
        weight_bytes=sum(len(w.data) for w in program.weights),
        planner=plan.planner,
        peak_step=plan.peak_step,
        peak_call=calls[plan.peak_step].name if plan.peak_step < len(calls) else "",
        blocks=tuple(sorted(plan.blocks, key=lambda b: (b.first, b.pool, b.offset, b.last))),
        pools=plan.pools,
    )
