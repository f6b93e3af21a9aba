"""The program itself: its tensors and steps in order, and its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvm_megcc.core.preference import Spending
from tvm_megcc.core.program.steps import (
    Check,
    Copy,
    Draw,
    Else,
    End,
    Feed,
    If,
    Kernel,
    Let,
    Load,
    Loop,
    Slide,
    Step,
    Store,
)
from tvm_megcc.core.program.storages import MemoryPlan, Storage
from tvm_megcc.core.program.tensors import Port, Tensor, Weight
from tvm_megcc.core.work import Work
from tvm_megcc.dims import Size, Symbol


@dataclass(frozen=True, slots=True)
class Requirement:
    """Two sizes that the model needs to be equal: shapes for which they differ are refused."""

    a: Size
    b: Size
    name: str


@dataclass(frozen=True, slots=True)
class Program:
    """A whole model for one architecture.

    ``arena_bytes``, the total of all pools, and ``plan`` are None until ``memory.place`` has run.
    A port's tensor has location ``("input"|"output", k)`` or, when the port lives in the arena,
    ``("arena", ...)``. A program of symbolic shapes has ``symbols``; ``memory.place`` gives it
    ``storages`` and leaves ``arena_bytes`` and ``plan`` None; where all its symbols are bounded,
    ``arena_limit`` is the arena that does for all sizes. ``spending`` says what the choice of
    kernels cost the whole model, ``work`` what it computes. ``states`` are the
    numbers of inputs and outputs that share memory: whatever reads the input comes before what
    writes the output.
    """

    name: str
    arch: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    tensors: tuple[Tensor, ...]
    kernels: tuple[Kernel, ...]
    calls: tuple[Step, ...]
    weights: tuple[Weight, ...]
    arena_bytes: int | None = None
    plan: MemoryPlan | None = None
    symbols: tuple[Symbol, ...] = ()
    storages: tuple[Storage, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    arena_limit: int | None = None
    spending: Spending | None = None
    work: Work | None = None
    states: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        def show(i: int) -> str:
            t = self.tensors[i]
            place = f"{t.location.space}[{t.location.index}]+{t.location.offset}"
            return f"%{i}:{t.dtype}{list(t.shape)}@{place}"

        lines = [f"program {self.name!r} for {self.arch}, arena {self.arena_bytes} bytes"]
        lines += [f"  input {p.name!r} = {show(p.tensor)}" for p in self.inputs]
        for a, b in self.states:
            lines.append(f"  input {self.inputs[a].name!r} is output {self.outputs[b].name!r}")
        lines += [f"  require {r.a} == {r.b}  // {r.name}" for r in self.requirements]
        depth = 0
        for n, step in enumerate(self.calls):
            depth -= isinstance(step, Else | End)
            lines.append(f"  {n:4d}: {'  ' * depth}{self._shown(step, show)}  // {step.name}")
            depth += isinstance(step, If | Else | Loop)
        lines += [f"  output {p.name!r} = {show(p.tensor)}" for p in self.outputs]
        return "\n".join(lines)

    def _shown(self, step: Step, show: Callable[[int], str]) -> str:
        """A step as text; tensors as `show` writes them."""
        match step:
            case Load():
                names = ", ".join(self.symbols[k].name for k in step.symbols)
                return f"{names} = load({show(step.source)})"
            case Let():
                names = ", ".join(self.symbols[k].name for k in step.symbols)
                return f"{names} = {', '.join(map(str, step.sizes))}"
            case Copy():
                number = "" if step.row is None else show(step.row)
                row = f"[{'-1 - ' * step.backwards}{number}]" if number else ""
                ends = (row, "") if step.into else ("", row)
                return f"{show(step.target)}{ends[0]} = {show(step.source)}{ends[1]}"
            case Draw():
                key = "" if step.seed is None else f"seed {step.seed}"
                return f"{show(step.target)} = draw({key})"
            case Store():
                return f"{show(step.target)} = {step.size}"
            case Check():
                return f"check {show(step.condition)}"
            case Slide():
                base, made = step.base, step.made
                return f"slide {show(step.tensor)} by {base.step} from {base.first}, {made.first}"
            case Feed():
                base, made = step.base, step.made
                begin = f"{show(step.tensor)} by {base.step} from {base.first}"
                return f"{begin} = rows {made.first} + {made.step} * t of {show(step.source)}"
            case If():
                return f"if {show(step.condition)}"
            case Loop():
                parts = [] if step.condition is None else [show(step.condition)]
                if step.limit is not None:
                    parts.append(f"{show(step.counter)} < {show(step.limit)}")
                return f"while {' and '.join(parts)}, counting {show(step.counter)}"
            case Else() | End():
                return type(step).__name__.lower()
        reads = ", ".join(map(show, step.reads))
        writes = ", ".join(map(show, step.writes))
        scratch = f" workspace {show(step.workspace)}" if step.workspace is not None else ""
        rows = ""
        if step.rows is not None:
            path = step.rows.output
            rows = f" rows {path.first} + {path.step} * t of {path.height}"
        return (
            f"{writes} = {self.kernels[step.kernel].symbol}({reads})"
            f" attrs {list(step.attrs)} work {step.work} x {step.cost}{scratch}{rows}"
        )
