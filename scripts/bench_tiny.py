"""Write the tables of docs/performance.md about MLPerf Tiny's networks on Cortex-M.

    scripts/bench --tiny                         both tables, of all networks
    scripts/bench --tiny kws ad --cpu cortex-m4  some of their rows
    scripts/bench --tiny --write                 both, into the page

The networks are those of scripts/tiny_networks.py. Each is compiled for each CPU, built with the
package's example program and run on a board of qemu's: the tables say the executed instructions of
one inference, and the bytes of RAM and flash as `tvmc inspect --for CPU` does. The peers' rows are
those of docs/peers.json. Nothing here is a test: scripts/instruction_table holds the counts.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pages
from bench_peers import FIGURES, PAGE, commit
from instruction_table import BOARDS, CPUS, board_package
from tiny_networks import NETWORKS

from tvm_megcc.errors import MegccError
from tvm_megcc.host import package
from tvm_megcc.host.firmware import Firmware
from tvm_megcc.host.footprint import footprint

BEGIN, END = "<!-- Written by scripts/bench --tiny: begin -->", "<!-- end of tiny -->"

#: Modes of --optimize on CPUs that have more than `speed`.
MODES = {"cortex-m0plus": ("speed", "size"), "cortex-m4": ("speed", "size")}


@dataclass(frozen=True, slots=True)
class Row:
    """Figures of a network on a CPU; sizes in bytes."""

    network: str
    cpu: str
    optimize: str
    instructions: int
    arena: int
    ram: int  # everything that is not the stack: the arena, inputs, outputs, the context
    stack: int
    flash: int


@dataclass(frozen=True, slots=True)
class Peer:
    """Figures of another runtime on a CPU, or wanted ones, by network."""

    cpu: str
    peer: str
    millions: Mapping[str, float]
    arena: Mapping[str, int] | None = None
    flash: Mapping[str, int] | None = None


def measure(network: str, cpu: str, optimize: str, folder: Path) -> Row:
    """The figures of a network on a CPU; the package goes into the folder.

    Raises ToolError if a tool is missing or fails.
    """
    built = board_package(network, cpu, folder / "package", optimize)
    needed = footprint(package.load(built), cpu)
    answer = Firmware(built, cpu).counted(NETWORKS[network].arrays())
    count = answer.counts.totals["instructions"]
    sizes = needed.arena, needed.ram, needed.stack, needed.flash
    return Row(network, cpu, optimize, count, *sizes)


def measured(networks: Sequence[str], cpus: Sequence[str]) -> Iterator[Row]:
    """Every network on every CPU, in each mode that is shown."""
    for cpu in cpus:
        for optimize in MODES.get(cpu, ("speed",)):
            for network in networks:
                with tempfile.TemporaryDirectory(prefix="megcc_tiny_") as folder:
                    yield measure(network, cpu, optimize, Path(folder))


def peers(cpu: str) -> list[Peer]:
    """The rows of docs/peers.json about these networks on a CPU."""
    found = [Peer(**row) for row in json.loads(FIGURES.read_text())["tiny"]]
    return [peer for peer in found if peer.cpu == cpu]


def instruction_table(rows: Sequence[Row]) -> str:
    """Millions of instructions: for each CPU a row for each mode, then those of peers."""
    networks = list(dict.fromkeys(row.network for row in rows))
    lines = []
    for cpu in dict.fromkeys(row.cpu for row in rows):
        found: dict[str, dict[str, str]] = {}
        for row in rows:
            if row.cpu == cpu:
                count = f"{row.instructions / 1e6:#.4g}"
                found.setdefault(f"`{row.optimize}`", {})[row.network] = count
        for peer in peers(cpu):
            found[peer.peer] = {network: str(count) for network, count in peer.millions.items()}
        for name, counts in found.items():
            lines.append([cpu, name, *(counts[network] for network in networks)])
    return pages.table(["CPU", "", *networks], lines, words=("CPU", ""))


def memory_table(rows: Sequence[Row]) -> str:
    """Bytes: for each network and CPU a row for each mode, then those of peers."""
    lines = []
    for network in dict.fromkeys(row.network for row in rows):
        for cpu in dict.fromkeys(row.cpu for row in rows):
            for row in rows:
                if (row.network, row.cpu) == (network, cpu):
                    sizes = (f"{n:,}" for n in (row.arena, row.ram, row.stack, row.flash))
                    lines.append([network, cpu, f"`{row.optimize}`", *sizes])
            for peer in peers(cpu):
                if peer.arena and peer.flash:
                    arena, flash = peer.arena[network], peer.flash[network]
                    lines.append([network, cpu, peer.peer, f"{arena:,}", "-", "-", f"{flash:,}"])
    head = ["network", "CPU", "", "arena", "RAM", "stack", "flash"]
    return pages.table(head, lines, words=("network", "CPU", ""))


def origin(at: str) -> str:
    """The versions of what was measured."""
    versions = json.loads(FIGURES.read_text())["tiny_versions"]
    theirs = "".join(f" {name} is {version}." for name, version in versions.items())
    return f"Ours is commit {at}, built with arm-none-eabi-gcc {BOARDS.compiler()}.{theirs}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench --tiny", description=__doc__)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=f"of {', '.join(NETWORKS)}")
    parser.add_argument("--cpu", action="append", choices=CPUS, help="default: all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there, too")
    parser.add_argument("--write", action="store_true", help="write the tables into the page")
    args = parser.parse_args(argv)
    if unknown := sorted(set(args.networks) - set(NETWORKS)):
        parser.error(f"not known: {', '.join(unknown)}; choose from {', '.join(NETWORKS)}")
    if args.write and (args.networks or args.cpu):
        parser.error("--write is for whole tables; leave networks and --cpu out")
    at = commit()  # before the page is written, which is a change, too
    rows = []
    try:
        for row in measured(args.networks or list(NETWORKS), args.cpu or CPUS):
            rows.append(row)
            print(f"{row.network:4} {row.cpu:14}{row.optimize:6}{row.instructions:>14,}",
                  f"ram {row.ram:>8,} flash {row.flash:>8,}", file=sys.stderr)  # fmt: skip
    except MegccError as error:
        print(f"scripts/bench: {error}", file=sys.stderr)
        return 1
    text = "\n\n".join((instruction_table(rows), memory_table(rows)))
    print(text)
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    if args.write:
        pages.write(PAGE, f"\n{text}\n\n{origin(at)}\n", BEGIN, END)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
