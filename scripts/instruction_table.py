"""Instructions of one inference beside those of the stored tables, for arm64 and for Cortex-M.

tests/instructions.json is of arm64: the zoo's models (the large ones for small images) and ten
small ones of the corpus, which between them run most kernels. tests/board_instructions.json is of
qemu's boards: the networks of MLPerf Tiny, as scripts/tiny_networks.py makes them, on each CPU
(kws:cortex-m4; a network's or a CPU's name stands for all of its rows).

A count is exact for one compiler, which the table names; --update writes what is measured into it.
tests/scripts/test_instructions.py and tests/cortexm/test_tiny.py fail where a count is over 2 %
more than the table says, so that what a change costs is seen, and decided, where it is made.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import subjects
from subjects import ROOT
from tiny_networks import NETWORKS

from tvm_megcc import driver, zoo
from tvm_megcc.core.machine import ROWS
from tvm_megcc.core.preference import Preference
from tvm_megcc.errors import InputError
from tvm_megcc.host import firmware, instruction_counts, package, toolchain
from tvm_megcc.target import resolve

TABLE = ROOT / "tests" / "instructions.json"
ARCH, CPU = "arm64", "cortex-a57"
#: Growth that a test lets pass.
LIMIT = 0.02
TIMEOUT_S = 300
CORPUS = (
    "cct2_cifar", "gtcrn_stream_simple", "heating_gru", "hyperlpr_platecls", "micro_kws_fp32",
    "mlptiny_kws_int8", "mlptiny_vww_fp32", "mnist_cntk", "silero_vad_v5", "tinybert_test",
)  # fmt: skip
MODELS = (*zoo.NAMES, *CORPUS)
#: CPUs of qemu's boards, and an M0+, whose code the board with an M3 runs.
CPUS = (
    "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """The compiler by its version, and instructions by model."""

    compiler: str
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Book:
    """A stored table: its file, the compiler of its programs, its rows and how one is measured.

    `measure` takes a row's name, the shared folder and a folder for the package.
    """

    path: Path
    command: str
    names: tuple[str, ...]
    measure: Callable[[str, Path, Path], int]

    def stored(self) -> Table:
        return Table(**json.loads(self.path.read_text()))

    def compiler(self) -> str:
        """The version of the compiler, or "" if there is none."""
        try:
            done = subprocess.run([self.command, "-dumpfullversion"], capture_output=True)
        except OSError:
            return ""
        return done.stdout.decode().strip()

    def write(self, counts: Mapping[str, int]) -> None:
        """Put counts into the table; its other rows stay."""
        known = self.stored().counts if self.path.exists() else {}
        merged = {**known, **counts}
        kept = {name: merged[name] for name in self.names if name in merged}
        table = {"compiler": self.compiler(), "counts": kept}
        self.path.write_text(json.dumps(table, indent=1) + "\n")

    def complaint(self, name: str, now: int) -> str:
        """The message about a row that grew by more than `LIMIT`, or ""."""
        accepting = f"scripts/instruction_table --update {name}"
        return grown(name, now, self.stored().counts[name], self.path, accepting)


def measure(name: str, shared: Path, folder: Path) -> int:
    """Instructions of one inference of a model of `MODELS`, for arm64 under qemu.

    `shared` has the corpus; the package goes into `folder`. Raises InputError if the corpus has no
    such model, ToolError if a tool is missing.
    """
    (subject,) = subjects.chosen(shared, folder, [name])
    driver.compile_model(
        subject.path, folder / "package", archs=[ARCH], input_shapes=subject.shapes
    )
    opened = package.load(folder / "package")
    (count,) = counted(opened, [subject.inputs(opened.inputs)])
    return count


def counted(opened: package.Package, inputs: Iterable[Mapping[str, Any]]) -> list[int]:
    """Instructions of one inference of an arm64 package under qemu, for each set of inputs.

    Raises ToolError if a tool is missing.
    """
    flags = ["-include", str(instruction_counts.MARKS)]
    runner = toolchain.build(opened.path, ARCH, extra_cflags=flags)
    runs = (
        instruction_counts.of_inference(
            runner, ARCH, given, opened.manifest, cpu=CPU, timeout=TIMEOUT_S
        )
        for given in inputs
    )
    return [counts.totals["instructions"] for _, counts in runs]


def board_package(network: str, cpu: str, out: Path, optimize: str = "speed") -> Path:
    """A network of MLPerf Tiny, compiled for a CPU into a folder."""
    model, machines = NETWORKS[network].build(), resolve([], [cpu])
    driver.compile_model(model, out, archs=list(machines), preference=Preference(optimize))
    return out


def on_board(name: str, shared: Path, folder: Path) -> int:
    """Instructions of one inference of ``NETWORK:CPU`` on qemu's board.

    Raises ToolError if a tool is missing.
    """
    network, cpu = name.split(":")
    program = firmware.Firmware(board_package(network, cpu, folder / "package"), cpu)
    return program.counted(NETWORKS[network].arrays()).counts.totals["instructions"]


def grown(what: str, now: int, before: int, table: Path, accepting: str) -> str:
    """The message about instructions above those of a table by more than `LIMIT`, or "".

    `accepting` is the command that writes the new count into the table.
    """
    if now <= before * (1 + LIMIT):
        return ""
    return (
        f"{what}: {now:,} instructions, {now / before - 1:.1%} more than the {before:,} of"
        f" {table.relative_to(ROOT)}; make it cheaper, or accept it with {accepting}"
    )


ARM64 = Book(TABLE, ROWS[ARCH].compiler, MODELS, measure)
BOARDS = Book(
    ROOT / "tests" / "board_instructions.json",
    firmware.COMPILER,
    tuple(f"{network}:{cpu}" for network in NETWORKS for cpu in CPUS),
    on_board,
)
BOOKS = (ARM64, BOARDS)


def rows_of(word: str) -> list[str]:
    """The rows that a name of a row, a network of MLPerf Tiny or a CPU stands for."""
    names = [name for book in BOOKS for name in book.names]
    return [word] if word in names else [n for n in names if word in n.split(":")]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/instruction_table", description=__doc__)
    words = f"of {', '.join(MODELS)}; a network of {', '.join(NETWORKS)}, a CPU of"
    parser.add_argument(
        "models", nargs="*", metavar="MODEL", help=f"{words} {', '.join(CPUS)}, or NETWORK:CPU"
    )
    parser.add_argument("--update", action="store_true", help="write the counts into the tables")
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    args = parser.parse_args(argv)
    if unknown := sorted(word for word in args.models if not rows_of(word)):
        parser.error(f"the tables have no {', '.join(unknown)}; they have {words[3:]} them")
    wanted = [name for word in args.models for name in rows_of(word)]
    for book in BOOKS:
        names = [name for name in book.names if not args.models or name in wanted]
        known = book.stored() if book.path.exists() else Table(book.compiler(), {})
        version = book.compiler()
        if args.update and len(names) < len(book.names) and names and version != known.compiler:
            parser.error(
                f"{book.path.name} is of gcc {known.compiler}, this is {version or 'none'}: update"
                " all of it"
            )
        counts = {}
        for name in names:
            with tempfile.TemporaryDirectory(prefix="megcc_instructions_") as folder:
                try:
                    counts[name] = book.measure(name, args.shared, Path(folder))
                except InputError as error:
                    parser.error(f"{error}; the corpus is looked for in {args.shared}")
            before = known.counts.get(name)
            change = f"{counts[name] / before - 1:+8.2%}" if before else "     new"
            print(f"{name:24}{counts[name]:>16,}{change}", flush=True)
        if args.update and counts:
            book.write(counts)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
