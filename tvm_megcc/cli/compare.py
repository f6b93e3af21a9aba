"""``tvmc compare``: a package's results beside those of ONNX, per output and per call."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tvm_megcc.cli import differences, options
from tvm_megcc.errors import DifferenceError, InputError

if TYPE_CHECKING:
    import numpy as np
    import onnx

    from tvm_megcc.compare import Tolerance
    from tvm_megcc.host.dump import Record
    from tvm_megcc.host.package import Port

HELP = "compare a package's results with ONNX Runtime's, or onnx.reference's"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="the ONNX file that was compiled")
    options.add_running(parser)
    parser.add_argument(
        "--per-layer", action="store_true", help="compare what each call computes, too"
    )
    differences.add_tolerance(parser)


def run(args: argparse.Namespace) -> None:
    from tvm_megcc.core import model_file
    from tvm_megcc.host import dump
    from tvm_megcc.host.package import opened

    check_order(args)
    model_file.require_onnx(args.model, "compare has references for ONNX models only")
    model_file.check(args.model)
    options.check_running(args)
    if args.per_layer:
        dump.check_package(args.package, "--per-layer")

    from tvm_megcc import execute, reference
    from tvm_megcc.compare import difference
    from tvm_megcc.frontend.load import load
    from tvm_megcc.quantisation.quantiser import quantised_node

    model, _ = load(args.model)
    tolerance = differences.tolerance_of(args)
    records: list[Record] = []
    with options.progress() as tell:
        if args.per_layer:
            with (
                opened(args.package) as package,
                dump.recorder(package, package.choose(args.arch)) as recorder,
            ):
                inputs = options.read_inputs(args, package.inputs, recorder.check_shapes)
                records, outputs = recorder.records(inputs)
                ports = package.inputs, package.outputs
        else:
            with execute.opened(args.package, args.arch, tell) as runnable:
                inputs = options.read_inputs(args, runnable.inputs, runnable.check_shapes)
                outputs = dict(runnable.run(inputs).outputs)
                ports = runnable.inputs, runnable.outputs
        inputs = numbers(inputs, ports[0], model.graph.input)
        outputs = numbers(outputs, ports[1], model.graph.output)
        records = [
            replace(r, array=numbers({r.name: r.array}, ports[1], model.graph.output)[r.name])
            for r in records
        ]
        names = [*outputs, *(record.name for record in records)]
        who, wanted = reference.values(model, inputs, names)
        spread = reference.optimised(model, inputs) if quantised_node(model) is not None else {}
    print(f"reference: {who}")
    for name, array in spread.items():
        if name in wanted:
            found = difference(name, array, wanted[name], tolerance)
            print(f"ONNX Runtime with its optimisations, output '{name}': {found}")
    first = per_layer(model, records, wanted, tolerance) if args.per_layer else ""
    wrong = differences.per_output(outputs, wanted, tolerance)
    if wrong:
        hint = first or "--per-layer names the first call that is"
        if args.per_layer and not first:
            hint = "all calls that compute a value of the model are within it"
        hint = drawing(model) or hint
        raise DifferenceError(f"beyond the tolerance: {', '.join(wrong)}; {hint}")
    if first:
        raise DifferenceError(f"the outputs are within the tolerance, but {first}")


def numbers(
    arrays: Mapping[str, np.ndarray], ports: Sequence[Port], values: Iterable[onnx.ValueInfoProto]
) -> dict[str, np.ndarray]:
    """The arrays as the model has them: numbers where its port is of floats, the package's not."""
    from tvm_megcc.core.dtypes import of_onnx
    from tvm_megcc.host.arrays import FLOATS, dequantised

    known = {value.name: of_onnx(value.type.tensor_type.elem_type) for value in values}
    made = dict(arrays)
    for port in ports:
        row = known.get(port.name)
        if port.name in made and port.quantisation is not None and row and row.name in FLOATS:
            made[port.name] = dequantised(port, made[port.name])
    return made


def check_order(args: argparse.Namespace) -> None:
    """Raise InputError for a package in the model's place, or a model in the package's."""
    is_package = Path(args.model).is_dir() or Path(args.model).suffix in (".tar", ".so")
    if is_package or Path(args.package).suffix == ".onnx":
        raise InputError(
            f"compare takes the model first, then its package; '{args.model}' and"
            f" '{args.package}' are the other way round: tvmc compare {args.package} {args.model}"
            if is_package and Path(args.package).suffix == ".onnx"
            else f"compare takes a model and its package, not '{args.model}' and"
            f" '{args.package}': tvmc compare MODEL.onnx OUT"
        )


def drawing(model: onnx.ModelProto) -> str:
    """A sentence on a node that draws random numbers, which differ between runtimes; or ""."""
    from tvm_megcc import ops
    from tvm_megcc.frontend.graphs import all_nodes

    for node in all_nodes(model.graph.node):
        op = ops.find(node.domain, node.op_type)
        if op is not None and op.random and node.op_type != "Dropout":
            return (
                f"{node.op_type} '{node.name or node.output[0]}' draws random numbers, other ones"
                " in each runtime; give them as an input of the model to compare it"
            )
    return ""


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
