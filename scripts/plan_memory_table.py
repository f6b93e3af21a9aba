#!/usr/bin/env python3
"""Compare PlanMemory with TVM's StaticPlanBlockMemory on the trained corpus, in TVM's own pipeline.

A model is imported with the shapes of its first case, lowered by TVM's CPU passes for LLVM, and
planned by both. Bytes are those of all storages and of all tensors with storage of their own; the
lower bound is the peak of live bytes, with results in the place of dying inputs, and what cannot be
planned. Both planned modules are compiled and run in relax.VirtualMachine on the case's inputs, and
their outputs compared to the bit.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from statistics import median

import numpy as np
import pages
import subjects
import tvm
from subjects import corpus
from tvm import relax
from tvm.relax.backend.cpu_generic import pipeline as cpu

from tvm_megcc.frontend import from_onnx
from tvm_megcc.memory import Interval, Problem, lower_bound
from tvm_megcc.transform import PlanMemory
from tvm_megcc.tvm_memory.allocated import allocated
from tvm_megcc.tvm_memory.in_place import share_dying_inputs
from tvm_megcc.tvm_memory.liveness import allocations

PAGE = subjects.ROOT / "docs" / "plan-memory.md"
BEGIN = "<!-- Written by scripts/plan_memory_table.py: begin -->"
END = "<!-- Written by scripts/plan_memory_table.py: end -->"


@dataclass(frozen=True, slots=True)
class Row:
    """Bytes of one model; `equal` is None if it was not run, `problem` says why there are none."""

    model: str
    tvm: int = 0
    ours: int = 0
    bound: int = 0
    seconds: float = 0.0
    equal: bool | None = None
    problem: str = ""

    @property
    def ratio(self) -> float:
        return self.ours / self.tvm if self.tvm else 1.0

    @property
    def says(self) -> str:
        return {None: "not run", True: "yes", False: "NO"}[self.equal]


def lowered(mod: tvm.IRModule, target: tvm.target.Target) -> tvm.IRModule:
    """`mod` up to the place where memory is planned."""
    passes = [
        *cpu.library_dispatch_passes(target),
        *cpu.legalize_passes(target),
        *cpu.dataflow_lower_passes(target),
    ]
    with target:
        return tvm.transform.Sequential(passes)(mod)


def functions(mod: tvm.IRModule) -> list[relax.Function]:
    return [f for _, f in mod.functions_items() if isinstance(f, relax.Function)]


def known_bytes(mod: tvm.IRModule) -> int:
    """Bytes of all functions of the module."""
    return sum(allocated(f).known for f in functions(mod))


def bound_bytes(mod: tvm.IRModule) -> int:
    """The peak of live bytes among plannable tensors, and all bytes of the others."""
    mod = share_dying_inputs(mod)
    total = known_bytes(mod)
    for func in functions(mod):
        found = [a for a in allocations(mod, func) if isinstance(a.size, int)]
        live = [Interval(a.var.name, a.first, a.last, a.size, alignment=1) for a in found]
        total += lower_bound(Problem(tuple(live))) - sum(a.size for a in found)
    return total


def answers(
    mod: tvm.IRModule, target: tvm.target.Target, inputs: list[np.ndarray]
) -> list[np.ndarray]:
    """Outputs of the planned module in TVM's virtual machine."""
    rest = tvm.transform.Sequential(cpu.finalize_passes(target)[1:])
    machine = relax.VirtualMachine(tvm.compile(mod, target, relax_pipeline=rest), tvm.cpu())
    result = machine["main"](*[tvm.runtime.tensor(x) for x in inputs])
    return [r.numpy() for r in ([result] if hasattr(result, "numpy") else result)]


def measure(model: corpus.Model, run: bool) -> Row:
    """The row of `model`; whatever goes wrong before or in TVM's own part is its problem."""
    target, case = tvm.target.Target("llvm"), model.cases[0]
    want = None
    try:
        imported = from_onnx(model.path, case.shapes)
        mod = lowered(imported.mod, target)
        with target:
            theirs = relax.transform.StaticPlanBlockMemory()(mod)
        given = case.inputs()
        # The corpus stores some scalars as one element.
        inputs = [given[port.name].reshape(case.shapes[port.name]) for port in imported.inputs]
        if run:
            want = answers(theirs, target, inputs)
    except Exception as error:
        return Row(model.name, problem=f"{type(error).__name__}: {' '.join(str(error).split())}")
    with target:
        start = time.perf_counter()
        ours = PlanMemory()(mod)
        seconds = time.perf_counter() - start
    equal = None
    if want is not None:
        got = answers(ours, target, inputs)
        equal = [(a.shape, a.tobytes()) for a in want] == [(b.shape, b.tobytes()) for b in got]
    sizes = known_bytes(theirs), known_bytes(ours), bound_bytes(mod)
    return Row(model.name, *sizes, seconds, equal)


def summary(rows: list[Row]) -> str:
    good = [r for r in rows if not r.problem]
    fewer = sum(r.ours < r.tvm for r in good)
    more = [r.model for r in good if r.ours > r.tvm]
    return (
        f"{len(good)} models; the median needs {1 - median(r.ratio for r in good):.1%} less, "
        f"{fewer} need less, {', '.join(more) or 'none'} more; "
        f"{sum(r.ours <= r.bound for r in good)} are at the lower bound; "
        f"{sum(r.equal is True for r in good)} were run, with equal outputs."
    )


def page_section(rows: list[Row]) -> str:
    """The summary and the table, with blank lines around."""
    cells = [
        [r.model, *(f"{size:,}" for size in (r.tvm, r.ours, r.bound)), f"{r.ratio:.3f}", r.says]
        for r in rows
        if not r.problem
    ]
    cells += [[r.model, "TVM does not compile it", *[""] * 4] for r in rows if r.problem]
    head = ("model", "StaticPlanBlockMemory", "PlanMemory", "lower bound", "ratio", "equal")
    return f"\n{summary(rows)}\n\n{pages.table(head, cells, words=('model', 'equal'))}\n"


def main(argv: list[str] | None = None) -> int:
    parser = subjects.parser("scripts/plan_memory_table.py", __doc__)
    parser.add_argument("--bytes", action="store_true", help="count only, run nothing")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    args = parser.parse_args(argv)
    models = subjects.known(parser, args, lambda shared: corpus.load(shared / "models"))
    rows = []
    heads = ("TVM", "PlanMemory", "bound", "ratio", "s")
    print(f"{'model':26}{heads[0]:>12}{heads[1]:>12}{heads[2]:>12}{heads[3]:>8}{heads[4]:>6} equal")
    for name in args.names or sorted(models):
        r = measure(models[name], not args.bytes)
        rows.append(r)
        sizes = f"{r.tvm:>12,}{r.ours:>12,}{r.bound:>12,}{r.ratio:8.3f}{r.seconds:6.1f} {r.says}"
        print(f"{name:26}{r.problem[:100] or sizes}", flush=True)
    if any(not r.problem for r in rows):
        print(summary(rows))
    if args.write:
        pages.write(PAGE, page_section(rows), BEGIN, END)
    return int(any(r.equal is False or r.ours > r.tvm for r in rows))


if __name__ == "__main__":
    sys.exit(main())
