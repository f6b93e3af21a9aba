"""``tvmc run``: run a package or library on this machine, an Arm one under qemu if need be."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tvm_megcc.cli import differences, options, profiling
from tvm_megcc.core.contents import Content
from tvm_megcc.errors import DifferenceError, InputError

if TYPE_CHECKING:
    import numpy as np

HELP = "run what tvmc compile wrote"


def arguments(parser: argparse.ArgumentParser) -> None:
    options.add_running(parser)
    parser.add_argument(
        "--seed",
        type=options.seed,
        default=0,
        metavar="S",
        help="of random inputs, and of random numbers that the model draws (default: 0)",
    )
    parser.add_argument("--outputs", metavar="OUT.npz", help="write the outputs, by name")
    parser.add_argument(
        "--expected", metavar="WANTED.npz", help="what the outputs should be, by name"
    )
    differences.add_tolerance(parser)
    parser.add_argument(
        "--dump",
        metavar="DIR",
        help="write what each call computes to .npz files, by name",
    )
    parser.add_argument("--print-time", action="store_true", help="print the time of a run")
    parser.add_argument(
        "--repeat", type=options.count, default=1, metavar="N", help="runs to time (default: 1)"
    )
    parser.add_argument("--profile", action="store_true", help="print the time of each kernel call")
    profiling.add_output(parser)
    parser.add_argument(
        "--print-top", type=options.count, metavar="K", help="print the K largest of each output"
    )


def run(args: argparse.Namespace) -> None:
    from tvm_megcc import execute
    from tvm_megcc.host import arrays, files

    options.check_running(args)
    if args.outputs:
        files.check_file(Path(args.outputs))
    if args.dump:
        check_dump(Path(args.dump), args)
    wanted = arrays.read_npz(Path(args.expected)) if args.expected else {}
    profiling.check_outputs(args)
    if args.dump:
        dump_to(Path(args.dump), args)
    profiled = args.profile or bool(args.profile_output)
    if profiled:
        execute.check_profiled(args.package)
    with (
        options.progress() as tell,
        execute.opened(
            args.package, args.arch, tell, threads=args.threads, cc=args.compiler
        ) as runnable,
    ):
        inputs = options.read_inputs(args, runnable.inputs, runnable.check_shapes, args.seed)
        result = runnable.run(inputs, repeat=args.repeat, profile=profiled, seed=args.seed)
    if args.outputs:
        arrays.write_npz(result.outputs, Path(args.outputs))
    if args.print_top:
        print_top(result.outputs, args.print_top)
    if result.trace is not None:
        profile = profiling.profile_of(result.trace, args.package)
        profiling.show(profile, args, print_table=args.profile)
    if args.print_time:
        options.print_times(runnable.arch, result.times_ms, runnable.emulated)
    if args.expected:
        check(result.outputs, wanted, args)


def check(
    outputs: dict[str, np.ndarray], wanted: dict[str, np.ndarray], args: argparse.Namespace
) -> None:
    """Print how far each output is from its expected value.

    Raises DifferenceError if one is beyond the tolerance, InputError if no output has an expected
    name.
    """
    unknown = [repr(name) for name in wanted if name not in outputs]
    if unknown or not wanted:
        raise InputError(
            f"--expected: '{args.expected}' has {', '.join(unknown) or 'nothing'}, the outputs are"
            f" {', '.join(map(repr, outputs))}"
        )
    wrong = differences.per_output(outputs, wanted, differences.tolerance_of(args))
    if wrong:
        raise DifferenceError(
            f"beyond the tolerance: {', '.join(wrong)}; tvmc compare MODEL {args.package}"
            " --per-layer names the first call that is"
        )


def check_dump(folder: Path, args: argparse.Namespace) -> None:
    """Refuse, before anything is built, a dump of a library or over anything but a dump."""
    from tvm_megcc.host import dump, files

    dump.check_package(args.package, "--dump")
    files.check_directory(folder, dump.is_dump)


def dump_to(folder: Path, args: argparse.Namespace) -> None:
    """Write ``inputs.npz``, ``tensors.npz``, ``outputs.npz`` and ``calls.txt``.

    Raises InputError if the folder holds anything but a dump.
    """
    from tvm_megcc.host import dump, files
    from tvm_megcc.host.arrays import npz_bytes
    from tvm_megcc.host.package import opened

    with (
        opened(args.package) as package,
        dump.recorder(package, package.choose(args.arch)) as recorder,
    ):
        inputs = options.read_inputs(args, package.inputs, recorder.check_shapes, args.seed)
        records, outputs = recorder.records(inputs, seed=args.seed)
    tensors = dump.by_name(records)
    rows = [
        f"{record.call:5d} {record.array.dtype}{list(record.array.shape)} {name}  {record.kernel}"
        for name, record in zip(tensors, records, strict=True)
    ]
    found: dict[str, Content] = {
        "inputs.npz": npz_bytes(inputs),
        "tensors.npz": npz_bytes(tensors),
        "outputs.npz": npz_bytes(outputs),
        dump.CALLS: "\n".join([dump.HEAD, *rows]) + "\n",
    }
    files.write_directory(found, folder, is_ours=dump.is_dump)


def print_top(outputs: dict[str, np.ndarray], count: int) -> None:
    """Print each output's largest elements with their indices, the largest first."""
    import numpy as np

    for name, array in outputs.items():
        flat = array.reshape(-1)
        order = np.argsort(-flat.astype(np.float64), kind="stable")[:count]
        print(f"{name}: {array.dtype}{list(array.shape)}")
        for position in order:
            index = ", ".join(str(int(i)) for i in np.unravel_index(position, array.shape))
            print(f"  [{index}] {flat[position]:.6g}")
