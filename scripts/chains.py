"""Chains of today's networks: what is generated for them beside loops by hand.

The chains are those of scripts/chain_graphs.py, the loops those of tests/chains/loops.c. Counted
are arm64 instructions under qemu: of a whole inference of the package, with what runs it, and of
the loop. --x86 adds the least times of both on this machine, in turns. --seed draws the inputs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import instruction_table
import numpy as np
import onnx
import pages
import timing
from chain_graphs import CHAINS, DTYPES, Case, model
from subjects import ROOT

from tvm_megcc import driver
from tvm_megcc.core.machine import machine
from tvm_megcc.errors import MegccError, ToolError
from tvm_megcc.host import instruction_counts, package, toolchain

ARCH = instruction_table.ARCH
PROGRAM = ROOT / "tests" / "chains" / "main.c"
#: Options of a package's Makefile for kernels.
FLAGS = (
    "-std=c99", "-O3", "-ffunction-sections", "-fdata-sections", "-fno-math-errno",
    "-fno-trapping-math", "-ffp-contract=fast", "-fomit-frame-pointer",
)  # fmt: skip
#: Of the loop's instructions, and of its time: what an issue allows the package.
MOST = 1.3
HEAD = ("chain", "network", "elements", "instructions", "loop by hand", "ratio")
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- Written by scripts/chains --write: begin -->", "<!-- end of chains -->"
HEAD_X86 = ("x86, us", "loop by hand, us", "ratio of times")


@dataclass(slots=True)
class Row:
    """Figures of a chain; times in microseconds, where they were measured."""

    chain: str
    network: str
    what: str
    elements: int
    instructions: int
    loop_instructions: int
    time_us: float | None = None
    loop_us: float | None = None

    @property
    def ratio(self) -> float:
        return self.instructions / self.loop_instructions


class Loops:
    """The program of all loops by hand, compiled for a machine as packages' kernels are."""

    def __init__(self, folder: Path, arch: str) -> None:
        self.path = folder / "loops"
        is_cross = not toolchain.is_native(arch)
        command = [
            toolchain.find_compiler(arch), *FLAGS, *machine(arch).flags,
            *(["-static"] if is_cross else []), f"-I{ROOT / 'codegen_c' / 'include'}",
            f"-I{instruction_counts.MARKS.parent}", str(PROGRAM), "-o", str(self.path),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ToolError(f"the loops by hand do not compile: {done.stderr.strip()[-300:]}")

    def run(
        self, case: Case, repeat: int = 0, launcher: Sequence[str] = ()
    ) -> tuple[np.ndarray, float]:
        """The output, and the least time of `repeat` more runs in microseconds (0 without)."""
        operands = [*case.given.values(), *case.graph.weights.values()]
        dtype = DTYPES[case.output.kind]
        size = int(np.prod(case.shape)) * dtype.itemsize
        head = [len(case.dims), len(operands), *case.dims, *(a.nbytes for a in operands), size]
        command = [*launcher, str(self.path), case.chain.name, str(repeat)]
        data = b"".join([np.int32(head).tobytes(), *(a.tobytes() for a in operands)])
        done = subprocess.run(command, input=data, capture_output=True)
        if done.returncode:
            raise ToolError(done.stderr.decode().strip() or f"{case.chain.name}: the loop failed")
        output = np.frombuffer(done.stdout[:size], dtype).reshape(case.shape)
        return output, float(np.frombuffer(done.stdout[size:], np.float64)[0])

    def count(self, case: Case) -> int:
        """Instructions of one run of the loop under qemu."""
        with tempfile.TemporaryDirectory(prefix="megcc_loops_") as folder:
            report = Path(folder, "report")
            line = instruction_counts.launcher(
                self.path, report, marked=True, cpu=instruction_table.CPU
            )
            self.run(case, launcher=line)
            return instruction_counts.read(self.path, report).totals["instructions"]


def instructions(case: Case, folder: Path) -> int:
    """Arm64 instructions of one inference by a package, which goes to `folder`."""
    driver.compile_model(model([case]), folder, archs=[ARCH])
    (count,) = instruction_table.counted(package.load(folder), [case.given])
    return count


def counted(case: Case, loops: Loops, folder: Path) -> Row:
    """The row of a chain without times; `loops` are those for arm64."""
    chain = case.chain
    return Row(
        chain.name, chain.network, chain.what, int(np.prod(case.shape)),
        instructions(case, folder), loops.count(case),
    )  # fmt: skip


def times(case: Case, loops: Loops, folder: Path, repeat: int, rounds: int) -> tuple[float, float]:
    """Least times on this machine in microseconds, of the package and of the loop, in turns."""
    folder.mkdir()
    path = folder / "chain.onnx"
    onnx.save(model([case]), path)
    ours = timing.Ours(path, folder / "package")
    pairs = []
    for _ in range(rounds):
        _, mine = ours.run(case.given, repeat)
        pairs.append((min(mine) * 1e3, loops.run(case, repeat)[1]))
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def cells(row: Row) -> list[str]:
    found = [
        f"`{row.chain}`", f"{row.network}: {row.what}", f"{row.elements:,}",
        f"{row.instructions:,}", f"{row.loop_instructions:,}", f"{row.ratio:.2f}",
    ]  # fmt: skip
    if row.time_us is not None and row.loop_us is not None:
        found += [f"{row.time_us:.1f}", f"{row.loop_us:.1f}", f"{row.time_us / row.loop_us:.2f}"]
    return found


def plain(row: Row) -> str:
    """A row as a line of the table on a terminal."""
    name, _, *numbers = cells(row)
    return f"{name.strip('`'):18}{row.network:18}" + "".join(f"{n:>13}" for n in numbers)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/chains", description=__doc__)
    parser.add_argument("chains", nargs="*", metavar="CHAIN", help="default: all")
    parser.add_argument("--list", action="store_true", help="name the chains, measure nothing")
    parser.add_argument("--x86", action="store_true", help="times on this machine, too")
    parser.add_argument("--markdown", action="store_true", help="the table in Markdown")
    parser.add_argument(
        "--write", action="store_true", help="all chains, --x86, into docs/performance.md"
    )
    timing.add_options(parser, repeat=200)
    args = parser.parse_args(argv)
    if unknown := sorted(set(args.chains) - set(CHAINS)):
        parser.error(f"no chain {', '.join(unknown)}; there are {', '.join(CHAINS)}")
    if args.write:
        if args.chains:
            parser.error("--write is for all chains")
        args.x86 = args.markdown = True
    chosen = [CHAINS[name] for name in args.chains or CHAINS]
    if args.list:
        for chain in chosen:
            print(f"{chain.name:18}{chain.network:18}{chain.what}")
        return 0
    head = HEAD + (HEAD_X86 if args.x86 else ())
    if not args.markdown:
        print(f"{head[0]:18}{head[1]:18}" + "".join(f"{h[:12]:>13}" for h in head[2:]))
    rows = []
    try:
        with tempfile.TemporaryDirectory(prefix="megcc_chains_") as name:
            folder = Path(name)
            (folder / "host").mkdir()
            loops = Loops(folder, ARCH)
            here = Loops(folder / "host", toolchain.host_arch()) if args.x86 else None
            for chain in chosen:
                case = chain.case(args.seed)
                row = counted(case, loops, folder / chain.name)
                if here is not None:
                    with timing.pinned(args.core):
                        where = folder / f"{chain.name}_host"
                        row.time_us, row.loop_us = times(
                            case, here, where, args.repeat, args.rounds
                        )
                rows.append(row)
                print(plain(row), file=sys.stderr if args.markdown else sys.stdout, flush=True)
    except MegccError as error:
        print(f"scripts/chains: {error}", file=sys.stderr)
        return 1
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    text = pages.table(head, map(cells, rows), words=HEAD[:2])
    if args.write:
        pages.write(PAGE, f"\n{text}\n", BEGIN, END)
    elif args.markdown:
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
