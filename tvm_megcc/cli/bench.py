"""``tvmc bench``: how long a run takes on this machine."""

from __future__ import annotations

import argparse

from tvm_megcc.cli import options

HELP = "time a package or library"


def arguments(parser: argparse.ArgumentParser) -> None:
    options.add_running(parser)
    parser.add_argument(
        "--repeat", type=options.count, default=50, metavar="N", help="runs to time (default: 50)"
    )


def run(args: argparse.Namespace) -> None:
    from tvm_megcc import execute

    with (
        options.progress() as tell,
        execute.opened(args.package, args.arch, tell, threads=args.threads, cc=args.cc) as runnable,
    ):
        inputs = options.read_inputs(args, runnable.inputs)
        result = runnable.run(inputs, repeat=args.repeat)
    options.print_times(runnable.arch, result.times_ms, runnable.emulated)
