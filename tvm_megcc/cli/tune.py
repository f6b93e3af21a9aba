"""``tvmc tune``: measure the candidate kernels of a model's calls, and record their costs."""

from __future__ import annotations

import argparse
from pathlib import Path

from tvm_megcc.cli import compiling, options
from tvm_megcc.errors import ToolError

HELP = "measure the kernels that a model may use, and write records for tvmc compile"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", required=True, metavar="RECORDS.json",
        help="the file that records are appended to; what it has already is not measured again",
    )  # fmt: skip
    compiling.add(parser)
    parser.add_argument(
        "--measure",
        choices=("instructions", "time"),
        help="executed instructions under qemu, or time on this machine or on boards (default:"
        " time on boards and where this machine is of the architecture, else instructions)",
    )
    parser.add_argument(
        "--rpc-tracker", metavar="HOST:PORT", help="measure on the boards of TVM's RPC tracker"
    )
    parser.add_argument("--rpc-key", metavar="KEY", help="of the boards at the tracker")
    parser.add_argument(
        "--trials", type=options.count, metavar="N", help="builds of the model, at most"
    )
    parser.add_argument(
        "--time", type=float, metavar="SECONDS", help="after so many, no new build begins"
    )
    parser.add_argument("--inputs", metavar="IN.npz", help="the inputs, by name; else made up")
    parser.add_argument(
        "--shapes",
        metavar="SHAPES",
        action="append",
        help='sizes of the inputs\' open dims to measure with, as in "x:[1,3,320,320]"; several'
        " times for several sizes (default: those of each bucket)",
    )


def run(args: argparse.Namespace) -> None:
    from tvm_megcc.tuning import boards, findings, session

    with options.progress() as tell:
        found = session.tune_model(
            args.model,
            args.output,
            compiling.read(args),
            measure=args.measure,
            tracker=None if args.rpc_tracker is None else boards.address(args.rpc_tracker),
            key=args.rpc_key,
            trials=args.trials,
            seconds=args.time,
            inputs=None if args.inputs is None else Path(args.inputs),
            sizes=[options.shapes(text, "--shapes") or {} for text in args.shapes or ()],
            tell=tell or (lambda line: None),
        )
    if found.rows:
        options.print_table(findings.HEAD, found.table())
    for line in found.lines():
        print(line)
    if found.stopped:
        raise ToolError(f"{found.stopped}; what was measured is in '{args.output}'")
