"""``tvmc compare``: a package's results beside those of ONNX, per output and per call."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tvm_megcc.cli import options
from tvm_megcc.errors import DifferenceError

if TYPE_CHECKING:
    import numpy as np
    import onnx

    from tvm_megcc.compare import Tolerance
    from tvm_megcc.host.dump import Record

HELP = "compare a package's results with ONNX Runtime's, or onnx.reference's"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="the ONNX file that was compiled")
    options.add_running(parser)
    parser.add_argument(
        "--per-layer", action="store_true", help="compare what each call computes, too"
    )
    parser.add_argument(
        "--rtol", type=_tolerance, default=1e-3, metavar="R",
        help="accepted difference relative to the reference's largest magnitude (default: 1e-3)",
    )  # fmt: skip
    parser.add_argument(
        "--atol", type=_tolerance, default=1e-6, metavar="A",
        help="accepted difference besides (default: 1e-6)",
    )  # fmt: skip


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return value


def run(args: argparse.Namespace) -> None:
    from tvm_megcc import compare, execute, reference
    from tvm_megcc.frontend.load import load
    from tvm_megcc.host import dump
    from tvm_megcc.host.package import opened
    from tvm_megcc.importers import require_onnx

    require_onnx(args.model, "compare has references for ONNX models only")
    model, _ = load(args.model)
    tolerance = compare.Tolerance(args.rtol, args.atol)
    records: list[Record] = []
    with options.progress() as tell:
        if args.per_layer:
            dump.check_package(args.package, "--per-layer")
            with opened(args.package) as package:
                inputs = options.read_inputs(args, package.inputs)
                records, outputs = dump.records(package, package.choose(args.arch), inputs)
        else:
            with execute.opened(args.package, args.arch, tell) as runnable:
                inputs = options.read_inputs(args, runnable.inputs)
                outputs = dict(runnable.run(inputs).outputs)
        names = [*outputs, *(record.name for record in records)]
        who, wanted = reference.values(model, inputs, names)
    print(f"reference: {who}")
    first = per_layer(model, records, wanted, tolerance) if args.per_layer else ""
    wrong = per_output(outputs, wanted, tolerance)
    if wrong:
        hint = first or "--per-layer names the first call that is"
        if args.per_layer and not first:
            hint = "all calls that compute a value of the model are within it"
        raise DifferenceError(f"beyond the tolerance: {', '.join(wrong)}; {hint}")
    if first:
        raise DifferenceError(f"the outputs are within the tolerance, but {first}")


def per_output(
    outputs: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray], tolerance: Tolerance
) -> list[str]:
    """Print a line for each output; the names of those beyond the tolerance."""
    from tvm_megcc.compare import difference

    wrong = []
    for name, got in outputs.items():
        if name not in wanted:  # an input or a constant of the model, passed on
            print(f"output '{name}': the reference has no such value")
            continue
        found = difference(name, got, wanted[name], tolerance)
        print(f"output '{name}': {found}{'' if found.ok else '  BEYOND'}")
        if not found.ok:
            wrong.append(f"'{name}'")
    return wrong


def per_layer(
    model: onnx.ModelProto,
    records: list[Record],
    wanted: Mapping[str, np.ndarray],
    tolerance: Tolerance,
) -> str:
    """Print a row for each call that computes a value of the model; which is the first beyond."""
    from tvm_megcc.compare import difference

    rows, first, compared = [], "", set()
    for record in records:
        if record.name not in wanted or record.name in compared:
            continue  # part of an operator; another iteration of a loop
        compared.add(record.name)
        found = difference(record.name, record.array, wanted[record.name], tolerance, ordered=False)
        said = found.problem or f"{found.largest:.3g}"
        relative = "" if found.problem else f"{found.relative:.1e}"
        mark = "" if found.ok else "BEYOND"
        rows.append([str(record.call), said, relative, mark, record.name, record.kernel])
        if not found.ok and not first:
            first = f"the first call beyond it is {record.call}, '{record.name}' ({record.kernel})"
    options.print_table(("call", "difference", "relative", "", "value", "kernel"), rows)
    values = {name for node in model.graph.node for name in node.output if name}
    calls = {record.call for record in records}
    print(
        f"{len(compared)} of {len(values)} values of the model are compared; the others are"
        " constants, or computed within a call (fused) or in no memory of their own"
    )
    print(f"{len(calls)} calls, of which {len(calls) - len(rows)} compute a part of an operator")
    return first
