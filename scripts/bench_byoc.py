#!/usr/bin/env python3
"""Write the table of regions in docs/performance.md: TVM alone, TVM with our regions, our package.

Usage: ``scripts/bench_byoc.py [MODEL ...]`` prints a row for each model of the zoo, model of the
shared corpus or ONNX file (default: the zoo's four and ten of the corpus); ``--write`` puts the
table in the page. All are on one thread. The three take turns; a figure is the least time of all
rounds. `share` is how many of the model's multiply-adds (convolutions and matrix products) are in
regions. TVM alone is its default pipeline for this CPU, without tuning.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable
from math import prod
from pathlib import Path

# Before TVM makes its pool.
os.environ["TVM_NUM_THREADS"] = "1"

import numpy as np
import onnx
import pages
import tvm
from bench_threads import PAGE, write
from tvm import relax

import tvm_megcc
from tvm_megcc import frontend, relay, zoo
from tvm_megcc.byoc.regions import inside, is_region
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.errors import InputError, MegccError
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import expressions
from tvm_megcc.target import llvm_target

BEGIN, END = "<!-- Written by scripts/bench_byoc.py: begin -->", "<!-- end of regions -->"
COLUMNS = (
    "model", "regions", "share", "TVM alone", "TVM with regions", "package", "times the package",
)  # fmt: skip
CORPUS = Path(__file__).resolve().parents[2] / "shared" / "models"
MODELS = (
    "mobilenet_v1", "mobilenet_v2", "resnet18", "resnet50",
    "ultraface_rfb320", "blazeface_front", "fastestdet", "hand_landmark_mp",
    "selfie_seg_landscape", "face_landmark_mp", "fsanet_headpose", "cct2_cifar",
    "yolox_nano", "lw_person_det",
)  # fmt: skip


def multiply_adds(functions: Iterable[relax.Function]) -> int:
    """Multiply-adds of the convolutions and matrix products of functions of fixed sizes."""
    return sum(_of_call(one) for func in functions for one in expressions(func))


def _of_call(call: relax.Expr) -> int:
    name = op_name(call)
    if not name.startswith("relax.nn.conv") and name != "relax.matmul":
        return 0
    data, weight, result = (
        [int(d) for d in t.shape] for t in (*(a.ty for a in call.args), call.ty)
    )
    if name == "relax.matmul":
        return prod(result) * data[-1]
    if name.endswith("_transpose"):
        return prod(data) * prod(weight[1:])
    return prod(result) * prod(weight[1:])


def row(name: str, rounds: int) -> list[str]:
    """Cells of one model's row."""
    path = Path(name) if Path(name).is_file() else CORPUS / name / "model.onnx"
    model = onnx.load(path) if path.is_file() else zoo.build(name)
    imported = frontend.from_onnx(model)
    if any(not isinstance(d, int) for port in imported.inputs for d in port.shape):
        raise InputError(f"{name} has sizes that change; name a model of fixed sizes")
    mod = imported.mod
    target = llvm_target(host_arch())
    parted = tvm_megcc.partition_for_megcc(mod, threads=1)
    functions = [f for _, f in parted.functions_items() if isinstance(f, relax.Function)]
    regions = [inside(f)["main"] for f in functions if is_region(f)]
    left = [f for f in functions if not is_region(f)]
    ours, theirs = multiply_adds(regions), multiply_adds(left)

    feed = [_random(param) for param in mod["main"].params]
    compiled = tvm_megcc.transform.CompileRegions()(parted)
    graph = relay.GraphModule(relay.build(mod)["default"](tvm.cpu()))
    for index, value in enumerate(feed):
        graph.set_input(index, value)
    ways = [_vm(mod, target, feed), _vm(compiled, target, feed), graph.run]
    least = [float("inf")] * 3
    for _ in range(rounds):
        for k, way in enumerate(ways):
            least[k] = min(least[k], _time(way))
    alone, byoc, package = (t * 1e3 for t in least)
    share = 100 * ours / (ours + theirs)
    times = (f"{ms:.2f} ms" for ms in (alone, byoc, package))
    shown = path.parent.name if path.is_file() else name
    return [shown, str(len(regions)), f"{share:.0f} %", *times, f"{byoc / package:.2f}"]


def _random(param: relax.Var) -> tvm.runtime.Tensor:
    shape = [int(d) for d in param.ty.shape]
    values = np.random.default_rng(0).standard_normal(shape)
    return tvm.runtime.tensor(values.astype(str(param.ty.dtype)))


def _vm(
    mod: tvm.IRModule, target: tvm.target.Target, feed: list[tvm.runtime.Tensor]
) -> Callable[[], object]:
    main = relax.VirtualMachine(tvm.compile(mod, target), tvm.cpu())["main"]
    return lambda: main(*feed)


def _time(way: Callable[[], object]) -> float:
    """The least of the runs that fit in a fifth of a second, at least three."""
    times: list[float] = []
    while len(times) < 3 or sum(times) < 0.2:
        start = time.perf_counter()
        way()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"put the table in {PAGE.name}")
    args = parser.parse_args()
    rows = []
    print(pages.table(COLUMNS, []), flush=True)
    for name in args.models:
        try:
            rows.append(row(name, args.rounds))
        except (MegccError, OSError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
        print(f"| {' | '.join(rows[-1])} |", flush=True)
    if args.write:
        write(PAGE, pages.table(COLUMNS, rows), BEGIN, END)
    return 0


if __name__ == "__main__":
    sys.exit(main())
