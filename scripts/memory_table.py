#!/usr/bin/env python3
"""Write the table in docs/memory-models.md: every model's arena, its bound, and other planners.

Usage: ``scripts/memory_table.py [MODEL ...]`` prints a row per model; ``--write`` puts the table of
all of them (the trained corpus with the shapes of its first case, and the zoo's large networks) in
the page. ``--json FILE`` keeps the figures.

A model is compiled twice up to the planner, as lowering leaves it and after forwarding (order of
calls, in place, concat without copies, ports of the caller), and planned by the default planner, by
PushDown alone, and, lowered by TVM's CPU passes, by TVM's StaticPlanBlockMemory.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import pages
import plan_memory_table as tvm_table
import subjects
import tvm
from subjects import corpus
from tvm import relax

from tvm_megcc import driver, memory, passes, zoo
from tvm_megcc.core.program import Call, Program
from tvm_megcc.errors import MegccError
from tvm_megcc.forward import caller_ports, forward
from tvm_megcc.frontend import from_onnx
from tvm_megcc.frontend.model import ImportedModel
from tvm_megcc.lower import lower
from tvm_megcc.memory.block import align

PAGE = subjects.ROOT / "docs" / "memory-models.md"
BEGIN = "<!-- Written by scripts/memory_table.py: begin -->"
END = "<!-- end -->"
ZOO = ("mobilenet_v2", "resnet18", "resnet50")
COLUMNS = (
    "model", "naive", "bound before", "bound after", "arena", "optimal", "workspace", "planner",
    "PushDown", "StaticPlan", "outputs",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """Bytes and seconds of one model; only `problem` where there are none."""

    model: str
    #: `naive`, `before`: every block in a place of its own, and the lower bound, as lowering leaves
    #: the program.
    naive: int = 0
    before: int = 0
    #: `after`, `arena`: the lower bound after forwarding, and the plan.
    after: int = 0
    arena: int = 0
    optimal: bool = False  # whether no plan can be smaller
    scratch: int = 0  # bytes of workspaces that are live at the peak
    planner: str = ""
    pushdown: int = 0  # PushDown alone
    tvm: int = 0  # all storages of StaticPlanBlockMemory; 0 where TVM's own passes fail
    outputs: int = 0  # bytes of the outputs, which `tvm` holds and `arena` does not
    #: `plan_s`, `compile_s`: forwarding and planning; all of it, from the ONNX file to C source.
    plan_s: float = 0.0
    compile_s: float = 0.0
    problem: str = ""

    @property
    def ratio(self) -> float:
        return self.arena / self.after if self.after else 1.0


def measure(name: str, load: Callable[[], ImportedModel], arch: str) -> Row:
    """Measure one model."""
    start = time.perf_counter()
    try:
        imported = load()
        mod = imported.mod
        for transform in passes.stages(arch).values():
            mod = transform(mod)
        ports = [[p.name for p in side] for side in (imported.inputs, imported.outputs)]
        lowered = lower(mod, arch, name, *ports)
        begin = time.perf_counter()
        program = memory.place(forward(lowered, "caller"))
        plan_s = time.perf_counter() - begin
        driver.package_files({arch: program})
    except MegccError as error:
        return Row(name, problem=" ".join(str(error).split()))
    compile_s = time.perf_counter() - start
    if program.plan is None or program.arena_bytes is None:
        return Row(name, problem="the data says some of its sizes, which are planned as it runs")
    before, _ = memory.problem_of(caller_ports(lowered))
    after, _ = memory.problem_of(forward(lowered, "caller"))
    return Row(
        name,
        naive=sum(align(b.size, b.alignment) for b in before.intervals),
        before=memory.lower_bound(before),
        after=memory.lower_bound(after),
        arena=program.arena_bytes,
        optimal=program.arena_bytes == program.plan.lower_bound,
        scratch=scratch_bytes(program),
        planner=program.plan.planner,
        pushdown=memory.plan(after, "pushdown").arena_bytes,
        tvm=static_plan_bytes(imported.mod),
        outputs=sum(program.tensors[port.tensor].nbytes for port in program.outputs),
        plan_s=plan_s,
        compile_s=compile_s,
    )


def scratch_bytes(program: Program) -> int:
    """Bytes of workspaces that are live during the call of the peak."""
    assert program.plan is not None
    step = program.plan.peak_step
    call = program.calls[step] if step < len(program.calls) else None
    scratch = call.workspace if isinstance(call, Call) else None
    return 0 if scratch is None else program.tensors[scratch].nbytes


def static_plan_bytes(mod: tvm.IRModule) -> int:
    """Bytes by TVM's own pipeline and planner; 0 if they fail."""
    target = tvm.target.Target("llvm")
    try:
        mod = tvm_table.lowered(mod, target)
        with target:
            planned = relax.transform.StaticPlanBlockMemory()(mod)
    except Exception:  # TVM's passes raise whatever they like
        return 0
    return tvm_table.known_bytes(planned)


def loaders(shared: Path) -> dict[str, Callable[[], ImportedModel]]:
    """All models by name: how each is imported."""
    drawn = {f"zoo: {name}": lambda name=name: from_onnx(zoo.build(name)) for name in ZOO}
    trained = {
        name: lambda model=model: from_onnx(model.path, model.cases[0].shapes)
        for name, model in sorted(corpus.load(shared / "models").items())
    }
    return {**drawn, **trained}


def table(rows: list[Row]) -> str:
    """The rows as Markdown, after a summary."""
    good = [r for r in rows if not r.problem]
    equal = sum(r.arena == r.after for r in good)
    largest = max(good, key=lambda r: r.ratio)
    shares = [f"{r.model} {r.plan_s / r.compile_s:.1%}" for r in good if r.model.startswith("zoo")]
    against = [r for r in good if r.tvm]
    smaller = sum(r.arena + r.outputs <= r.tvm for r in against)
    lines = [
        f"{len(good)} models. The arena equals the lower bound on {equal} of them"
        f" ({equal / len(good):.0%}); the largest ratio is {largest.ratio:.4f} ({largest.model}).",
        f"With the outputs added it is at most StaticPlanBlockMemory's total on {smaller} of the"
        f" {len(against)} models that TVM's own passes lower.",
        f"Share of compile time that forwarding and planning take: {', '.join(shares)}.",
        "",
    ]
    cells = []
    for r in good:
        optimal = "yes" if r.optimal else f"{r.ratio:.4f}"
        row = [r.model, r.naive, r.before, r.after, r.arena, optimal, r.scratch, r.planner]
        row += [r.pushdown, r.tvm or "fails", r.outputs]
        cells.append([f"{cell:,}" if isinstance(cell, int) else cell for cell in row])
    lines.append(pages.table(COLUMNS, cells, words=("model", "optimal", "planner")))
    if missing := [f"{r.model} ({r.problem})" for r in rows if r.problem]:
        lines += ["", f"Without figures: {'; '.join(missing)}."]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    parser = subjects.parser("scripts/memory_table.py", __doc__)
    parser.add_argument("--arch", default="arm64")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures there")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    args = parser.parse_args(argv)
    known = subjects.known(parser, args, loaders)
    if args.write and args.names:
        parser.error("--write is for the table of all models; leave the names out")
    rows = []
    for name in args.names or known:
        row = measure(name, known[name], args.arch)
        rows.append(row)
        said = row.problem or (
            f"{row.naive:>12,}{row.before:>12,}{row.after:>12,}{row.arena:>12,}{row.ratio:>8.4f}"
            f" {row.planner:16}{row.pushdown:>12,}{row.tvm:>12,}{row.outputs:>10,}"
            f"{row.plan_s:>7.2f} of {row.compile_s:.1f} s"
        )
        print(f"{name:28}{said}", flush=True)
        if args.json:
            args.json.write_text(json.dumps([asdict(r) for r in rows], indent=1) + "\n")
    if args.write:
        pages.write(PAGE, table(rows), BEGIN, END)
    return 0


if __name__ == "__main__":
    sys.exit(main())
