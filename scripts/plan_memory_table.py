#!/usr/bin/env python3
"""Compare PlanMemory with TVM's StaticPlanBlockMemory on the trained corpus, in TVM's own pipeline.

Usage: ``scripts/plan_memory_table.py [MODEL ...]`` prints a row per model and the median;
``--write`` puts the table into docs/plan-memory.md, ``--bytes`` leaves out compiling and running.

A model is imported with the shapes of its first case, lowered by TVM's CPU passes for LLVM, and
planned three times: by TVM, by PlanMemory, and not at all, for the lower bound. Bytes are those of
all storages and of all tensors with storage of their own. Both planned modules are compiled and run
in ``relax.VirtualMachine`` on the case's inputs; outputs are compared to the bit.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import tvm
from tvm import relax
from tvm.relax.backend.cpu_generic import pipeline as cpu_generic

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "models"))

import corpus  # noqa: E402

from tvm_megcc.frontend import from_onnx  # noqa: E402
from tvm_megcc.memory import Interval, Problem, lower_bound  # noqa: E402
from tvm_megcc.passes.plan_memory import PlanMemory  # noqa: E402
from tvm_megcc.passes.plan_memory_bytes import allocated  # noqa: E402
from tvm_megcc.passes.plan_memory_liveness import allocations  # noqa: E402

PAGE = ROOT / "docs" / "plan-memory.md"
BEGIN = "<!-- Written by scripts/plan_memory_table.py: begin -->"
END = "<!-- Written by scripts/plan_memory_table.py: end -->"


@dataclass(frozen=True, slots=True)
class Row:
    """One model's bytes; `equal` is None where the models were not run."""

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


def lowered(mod: tvm.IRModule, target: tvm.target.Target) -> tvm.IRModule:
    """`mod` up to the place where memory is planned."""
    passes = [
        *cpu_generic.library_dispatch_passes(target),
        *cpu_generic.legalize_passes(target),
        *cpu_generic.dataflow_lower_passes(target),
    ]
    with target:
        return tvm.transform.Sequential(passes)(mod)


def known_bytes(mod: tvm.IRModule) -> int:
    """Bytes of all functions of the module."""
    functions = [f for _, f in mod.functions_items() if isinstance(f, relax.Function)]
    return sum(allocated(f).known for f in functions)


def bound_bytes(mod: tvm.IRModule) -> int:
    """The peak of live bytes among what can be planned, and all that cannot."""
    total = known_bytes(mod)
    for _, func in mod.functions_items():
        if isinstance(func, relax.Function):
            found = [a for a in allocations(mod, func) if isinstance(a.size, int)]
            intervals = [Interval(a.var.name, a.first, a.last, a.size) for a in found]
            total += lower_bound(Problem(tuple(intervals))) - sum(a.size for a in found)
    return total


def answers(
    mod: tvm.IRModule, target: tvm.target.Target, inputs: list[np.ndarray]
) -> list[np.ndarray]:
    """What the planned module computes in TVM's virtual machine."""
    rest = tvm.transform.Sequential(cpu_generic.finalize_passes(target)[1:])
    machine = relax.VirtualMachine(tvm.compile(mod, target, relax_pipeline=rest), tvm.cpu())
    result = machine["main"](*[tvm.runtime.tensor(x) for x in inputs])
    return [r.numpy() for r in ([result] if hasattr(result, "numpy") else result)]


def measure(model: corpus.Model, run: bool) -> Row:
    """The row of `model`; a model that TVM cannot compile has a problem instead of bytes."""
    target, case = tvm.target.Target("llvm"), model.cases[0]
    try:
        imported = from_onnx(model.path, case.shapes)
        mod = lowered(imported.mod, target)
        with target:
            theirs = relax.transform.StaticPlanBlockMemory()(mod)
    except Exception as error:
        return Row(model.name, problem=f"{type(error).__name__}: {' '.join(str(error).split())}")
    with target:
        start = time.perf_counter()
        ours = PlanMemory()(mod)
        seconds = time.perf_counter() - start
    equal = None
    if run:
        given = case.inputs()
        inputs = [given[port.name] for port in imported.inputs]
        try:
            want = answers(theirs, target, inputs)
        except Exception as error:
            return Row(
                model.name, problem=f"{type(error).__name__}: {' '.join(str(error).split())}"
            )
        got = answers(ours, target, inputs)
        equal = [a.tobytes() for a in want] == [b.tobytes() for b in got]
    return Row(
        model.name, known_bytes(theirs), known_bytes(ours), bound_bytes(mod), seconds, equal
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/plan_memory_table.py", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MODEL", help="default: all of the corpus")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--bytes", action="store_true", help="count only")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    args = parser.parse_args(argv)
    models = corpus.load(args.shared / "models")
    rows = []
    for name in args.names or sorted(models):
        row = measure(models[name], not args.bytes)
        rows.append(row)
        print(row.problem and f"{name:26} {row.problem[:150]}" or
              f"{name:26}{row.tvm:>12}{row.ours:>12}{row.bound:>12}{row.ratio:8.3f}"
              f"{row.ours/max(row.bound,1):8.3f} {row.seconds:6.2f} {row.equal}", flush=True)
    good = [r for r in rows if not r.problem]
    print(len(good), median(r.ratio for r in good))
    return 0


if __name__ == "__main__":
    sys.exit(main())
