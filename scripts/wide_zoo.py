"""Small networks of today's architectures from seeds: written, listed, or measured.

Weights and inputs are drawn from --seed; graphs are as PyTorch's exporters write them, the old one
(opset 16) and the new one (20). Measured are: the largest difference from ONNX Runtime over
the largest magnitude, at each of its sizes; our time over ONNX Runtime's on this machine, in turns
on one thread; arm64 instructions of one inference under qemu; what `tvmc compile` for arm64 takes.
Open dims stay open in the package. Nothing here is a test: no number is compared with a limit.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import compiler_memory
import instruction_table
import numpy as np
import onnx
import pages
import peer_arm
import timing
from subjects import ROOT
from wide_networks import NETWORKS, Network

from tvm_megcc import driver
from tvm_megcc.errors import MegccError
from tvm_megcc.host import package

Arrays = Mapping[str, np.ndarray]
ARCH = instruction_table.ARCH
#: Of the largest magnitude: a larger difference from ONNX Runtime is a wrong answer.
TOLERANCE = 1e-3
#: The networks whose instructions are stored: a test fails where one grows by over 2 %.
TABLE = ROOT / "tests" / "wide_instructions.json"
COUNTED = ("convnext", "dgcnn", "gpt2_step", "minilm_qdq", "super_resolution", "whisper_encoder")
COLUMNS = ("differ", "ratio", "arm", "compile")
HEAD = (
    "network", "form", "sizes", "weights, MB", "differ", "x86 / ORT", "arm64, M instructions",
    "ORT's", "compile, CPU s", "peak, MB", "note",
)  # fmt: skip


@dataclass(slots=True)
class Row:
    """Figures of a network, by size where it has several; empty where it was not measured."""

    network: str
    form: str
    sizes: list[str]
    weights_mb: float
    differ: list[float] = field(default_factory=list)
    ratio: list[float] = field(default_factory=list)
    instructions: list[int] = field(default_factory=list)
    peer_instructions: list[int] = field(default_factory=list)
    compile_s: float | None = None
    peak_mb: float | None = None
    note: str = ""


def words_of(sizes: Mapping[str, int]) -> str:
    """Sizes as in ``batch 3``, or ``fixed``."""
    return ", ".join(f"{name} {size}" for name, size in sizes.items()) or "fixed"


def write(network: Network, folder: Path, seed: int = 0) -> Path:
    """The network's file, written into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{network.name}.onnx"
    onnx.save(network.build(seed).model(), path)
    return path


def degenerate(outputs: Arrays) -> str:
    """What is wrong with outputs that cannot tell a right answer from a wrong one, or ""."""
    for name, value in outputs.items():
        if not value.size:
            return f"{name} is empty"
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            return f"{name} is not finite"
        if value.size > 1 and np.ptp(value.astype(np.float64)) < 1e-4:
            return f"{name} is constant"
    return ""


def compare(
    network: Network, ours: timing.Ours, peer: timing.OnnxRuntime, seed: int
) -> list[float]:
    """The largest difference over the largest magnitude, at each of the network's sizes.

    Raises InputError if an answer has another shape than ONNX Runtime's, or is degenerate.
    """
    found = []
    for sizes in network.sizes:
        given = network.arrays(sizes, seed)
        want, _ = peer.run(given, 1)
        got, _ = ours.run(given, 1)
        if complaint := degenerate(want):
            raise MegccError(f"{network.name} at {words_of(sizes)}: {complaint}")
        for name, value in want.items():
            if got[name].shape != value.shape:
                raise MegccError(
                    f"{network.name} at {words_of(sizes)}: {name} has shape"
                    f" {list(got[name].shape)}, ONNX Runtime's {list(value.shape)}"
                )
        found.append(timing.largest_relative(got, want))
    return found


def ratios(
    network: Network, ours: timing.Ours, peer: timing.OnnxRuntime, args: argparse.Namespace
) -> list[float]:
    """The median of our least time over ONNX Runtime's in turns, at each size."""
    found = []
    with timing.pinned(args.core):
        for sizes in network.sizes:
            given = network.arrays(sizes, args.seed)
            pairs = []
            for _ in range(args.rounds):
                mine, theirs = (r.run(given, args.repeat)[1] for r in (ours, peer))
                pairs.append(min(mine) / min(theirs))
            found.append(statistics.median(pairs))
    return found


def instructions(network: Network, model: Path, out: Path, seed: int = 0) -> list[int]:
    """Arm64 instructions of one inference at each size; the package goes to `out`.

    Raises ToolError if a tool is missing.
    """
    if not package.is_package(out):
        driver.compile_model(model, out, archs=[ARCH])
    given = (network.arrays(sizes, seed) for sizes in network.sizes)
    return instruction_table.counted(package.load(out), given)


@dataclass(frozen=True, slots=True)
class Table:
    """The cross compiler by its version, and instructions at each size by network."""

    compiler: str
    counts: dict[str, list[int]]


def stored() -> Table:
    return Table(**json.loads(TABLE.read_text()))


def complaint(network: Network, counts: Sequence[int], before: Sequence[int]) -> str:
    """The message about a network that grew by more than instruction_table's limit, or ""."""
    command = f"scripts/wide_zoo --update {network.name}"
    rows = zip(network.sizes, counts, before, strict=True)
    found = (
        instruction_table.grown(f"{network.name} at {words_of(sizes)}", now, known, TABLE, command)
        for sizes, now, known in rows
    )
    return next(filter(None, found), "")


def update(networks: Sequence[Network]) -> None:
    """Count the instructions of networks of `COUNTED` and write them into the table.

    Raises MegccError if one is not of those, or the table is of another compiler.
    """
    if unknown := [network.name for network in networks if network.name not in COUNTED]:
        raise MegccError(f"the table has {', '.join(COUNTED)}, not {', '.join(unknown)}")
    version = instruction_table.ARM64.compiler()
    known = stored() if TABLE.exists() else Table(version, {})
    if version != known.compiler and len(networks) < len(COUNTED):
        raise MegccError(f"the table is of gcc {known.compiler}, this is {version}: update all")
    counts = dict(known.counts)
    for network in networks:
        with tempfile.TemporaryDirectory(prefix="megcc_wide_") as folder:
            path = write(network, Path(folder))
            counts[network.name] = instructions(network, path, Path(folder) / ARCH)
        print(f"{network.name:24}{'; '.join(f'{n:,}' for n in counts[network.name])}", flush=True)
    kept = {name: counts[name] for name in COUNTED if name in counts}
    TABLE.write_text(json.dumps({"compiler": version, "counts": kept}, indent=1) + "\n")


def measure(network: Network, folder: Path, args: argparse.Namespace) -> Row:
    """The columns that are asked for; what fails is the row's note."""
    path = write(network, folder, args.seed)
    sizes = [words_of(s) for s in network.sizes]
    row = Row(network.name, network.form, sizes, path.stat().st_size / 1e6)
    try:
        ours = timing.Ours(path, folder / "host")
        row.differ = compare(network, ours, timing.OnnxRuntime(path, exact=True), args.seed)
        if max(row.differ) > TOLERANCE or np.isnan(row.differ).any():
            row.note = "wrong answer"
        if "ratio" in args.columns:
            row.ratio = ratios(network, ours, timing.OnnxRuntime(path), args)
        out = folder / ARCH
        if "compile" in args.columns:
            peak, row.compile_s = compiler_memory.measured(path, out, ["--arch", ARCH, "--quiet"])
            row.peak_mb = peak / 1e6
        if "arm" in args.columns:
            row.instructions = instructions(network, path, out, args.seed)
        if args.peer_arm:
            given = [network.arrays(sizes, args.seed) for sizes in network.sizes]
            row.peer_instructions = peer_arm.instructions(path, given, args.peer_arm)
    except Exception as error:  # a network that cannot be measured is a row as well
        known = isinstance(error, MegccError)
        said = str(error) if known else f"{type(error).__name__}: {error}"
        row.note = " ".join(said.split())[:300].replace("|", "/")
    return row


def cells(row: Row) -> list[str]:
    return [
        f"`{row.network}`", row.form, "; ".join(row.sizes), f"{row.weights_mb:.1f}",
        "; ".join(f"{value:.0e}" for value in row.differ),
        "; ".join(f"{value:.2f}" for value in row.ratio),
        "; ".join(f"{value / 1e6:.1f}" for value in row.instructions),
        "; ".join(f"{value / 1e6:.1f}" for value in row.peer_instructions),
        "" if row.compile_s is None else f"{row.compile_s:.1f}",
        "" if row.peak_mb is None else f"{row.peak_mb:.0f}", row.note,
    ]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/wide_zoo", description=__doc__)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="default: all")
    parser.add_argument("--list", action="store_true", help="name the networks, measure nothing")
    parser.add_argument(
        "--write", type=Path, metavar="DIR", help="write them there, measure nothing"
    )
    parser.add_argument(
        "--update", action="store_true", help=f"count those of {TABLE.name} and write it"
    )
    parser.add_argument(
        "--peer-arm", type=Path, metavar="DIR",
        help="count ONNX Runtime's arm64 instructions as well: its wheel for Arm in DIR/site, a"
        " Python for Arm in DIR/usr",
    )  # fmt: skip
    parser.add_argument("--columns", default=",".join(COLUMNS), help="default: %(default)s")
    timing.add_options(parser, repeat=20)
    args = parser.parse_args(argv)
    args.columns = args.columns.split(",")
    for kind, given, known in (
        ("network", args.networks, NETWORKS), ("column", args.columns, COLUMNS),
    ):  # fmt: skip
        if unknown := sorted(set(given) - set(known)):
            parser.error(f"no {kind} {', '.join(unknown)}; there are {', '.join(known)}")
    if args.update:
        try:
            update([NETWORKS[name] for name in args.networks or COUNTED])
        except MegccError as error:
            print(f"scripts/wide_zoo: {error}", file=sys.stderr)
            return 1
        return 0
    chosen = [NETWORKS[name] for name in args.networks or NETWORKS]
    if args.list or args.write:
        for network in chosen:
            print(f"{network.name:24}{network.form:5}{'; '.join(map(words_of, network.sizes))}")
            if args.write:
                write(network, args.write, args.seed)
        return 0
    rows = []
    for network in chosen:
        with tempfile.TemporaryDirectory(prefix="megcc_wide_") as folder:
            rows.append(measure(network, Path(folder), args))
        print(" | ".join(cells(rows[-1])), file=sys.stderr, flush=True)
        if args.json:
            args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    print(pages.table(HEAD, [cells(row) for row in rows], words=HEAD))
    return 1 if any(row.note for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
