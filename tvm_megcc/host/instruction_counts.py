"""Executed instructions of an Arm program under qemu, by class, by function and by marked region.

Enters: a built program. Leaves: `Counts`. They are exact and repeatable for a program of one
thread. A multiply-add of a vector counts once per lane. A package's runner has its timed runs
marked when it is compiled with ``-include`` `MARKS`.

Example
-------
>>> count(["build/arm64/run"], marked=True).totals["instructions"]         # doctest: +SKIP
1482031
"""

from __future__ import annotations

import bisect
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tvm_megcc.core import user_cache
from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import toolchain

HERE = Path(__file__).resolve().parent / "counter"
MARKS = HERE / "marks.h"
#: Marks of each call, for the program of `firmware`.
CALL_MARKS = HERE / "call_marks.h"

#: ELF machine -> qemu's name, prefix of the cross tools, where the guest's memory begins. A base
#: other than 0 lets addresses of 32 bits be found among the maps of a process of 64.
MACHINES = {183: ("aarch64", "aarch64-linux-gnu-", 0), 40: ("arm", "arm-linux-gnueabihf-", 1 << 32)}


@dataclass(slots=True)
class Counts:
    """Counts of executed instructions."""

    #: ``instructions``, ``regions``, ``mac_f32``, ``load_bytes``, ...
    totals: dict[str, int] = field(default_factory=dict)
    #: Class -> instructions, and a description of the class.
    classes: dict[str, tuple[int, str]] = field(default_factory=dict)
    #: Instructions by the function that they are in, without those that it calls; "?" where the
    #: program is stripped.
    functions: dict[str, int] = field(default_factory=dict)
    #: Instructions of each marked region, in the order in which they ran.
    regions: list[int] = field(default_factory=list)


def plugin() -> Path:
    """The plugin, built on first use; ToolError if there is no compiler, or it fails."""
    sources = sorted(HERE.iterdir())
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    cache = user_cache.folder()
    if cache is None:
        raise ToolError("the counter's plugin needs a cache only you write; set XDG_CACHE_HOME")
    built = cache / f"counter_{digest}.so"
    if built.exists():
        return built
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), "")
    if not compiler:
        raise ToolError("the counter's plugin needs a C compiler; apt install gcc libc6-dev")
    with tempfile.TemporaryDirectory(dir=built.parent) as folder:
        fresh = Path(folder, "plugin.so")
        command = [compiler, "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-o", str(fresh)]
        command += [str(path) for path in sources if path.suffix == ".c"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ToolError(f"the counter's plugin does not build: {done.stderr.strip()[-300:]}")
        fresh.replace(built)
    return built


def count(
    command: Sequence[str | Path],
    *,
    marked: bool = False,
    cpu: str | None = None,
    timeout: float | None = None,
) -> Counts:
    """Run an Arm program, with its arguments, and count its instructions.

    `marked` counts only between the marks of ``marks.h``. `cpu` is the core that qemu stands for;
    its default has every feature. After `timeout` seconds the run is given up. Raises InputError
    for another file than an Arm program, ToolError if a tool is missing or the program fails.
    """
    program = Path(command[0])
    with tempfile.TemporaryDirectory(prefix="megcc-count-") as folder:
        report = Path(folder, "report")
        line = [*launcher(program, report, marked=marked, cpu=cpu), *map(str, command)]
        try:
            done = subprocess.run(line, timeout=timeout, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise ToolError(f"{program} did not finish within {timeout} seconds") from None
        if done.returncode and report.exists():
            raise ToolError(f"{program} ended with status {done.returncode}")
        return read(program, report)


def of_inference(
    runner: Path,
    arch: str,
    inputs: Mapping[str, Any],
    manifest: Mapping[str, Any],
    *,
    cpu: str | None = None,
    timeout: float | None = None,
) -> tuple[toolchain.RunResult, Counts]:
    """Run a package's program, built with `MARKS`, once: its outputs, and counts of one inference.

    Raises as `count`, and ToolError unless exactly one inference was counted.
    """
    with tempfile.TemporaryDirectory(prefix="megcc-count-") as folder:
        report = Path(folder, "report")
        line = launcher(runner, report, marked=True, cpu=cpu)
        done = toolchain.run_package(runner, arch, inputs, manifest, launcher=line, timeout=timeout)
        counts = read(runner, report)
    if (regions := counts.totals["regions"]) != 1:
        raise ToolError(f"{regions} regions were counted, not the one of one inference")
    return done, counts


def launcher(
    program: Path, report: Path, *, marked: bool = False, cpu: str | None = None
) -> list[str]:
    """The words before a program's command line that make it write its counts to `report`.

    Raises as `count`.
    """
    name, _, base = _machine(program)
    qemu = shutil.which(f"qemu-{name}")
    if qemu is None:
        raise ToolError(f"there is no qemu-{name} to count with; apt install qemu-user")
    options = f"{plugin()},out={report},marked={int(marked)}"
    line = [qemu, "-plugin", options, *(["-B", hex(base)] if base else [])]
    return [*line, *(["-cpu", cpu] if cpu else [])]


def read(program: Path, report: Path) -> Counts:
    """The counts of a run that has ended; ToolError if there are none."""
    name, prefix, base = _machine(program)
    if not report.exists():
        raise ToolError(
            f"qemu-{name} wrote no counts: it must be one with plugins, as Debian 12's qemu-user"
            " is; qemu-user-static and Debian 13's are not"
        )
    return _read(program, report.read_text(encoding="utf-8"), prefix, base)


def _machine(program: Path) -> tuple[str, str, int]:
    try:
        head = program.read_bytes()[:20]
    except OSError as error:
        raise InputError(f"'{program}': {error.strerror}") from None
    machine = int.from_bytes(head[18:20], "little")
    if head[:4] != b"\x7fELF" or machine not in MACHINES:
        raise InputError(f"'{program}' is no program for Arm; build one with the cross compiler")
    return MACHINES[machine]


def _read(program: Path, report: str, prefix: str, base: int) -> Counts:
    found = Counts()
    blocks: Counter[int] = Counter()
    maps: list[str] = []
    for line in report.splitlines():
        kind, rest = line[0], line[2:]
        if kind == "T":
            name, value = rest.split()
            found.totals[name] = int(value)
        elif kind == "C":
            name, value, text = rest.split(None, 2)
            found.classes[name] = int(value), text
        elif kind == "B":
            at, length, times = rest.split()
            blocks[int(at, 16)] += int(length) * int(times)
        elif kind == "R":
            found.regions.append(int(rest))
        else:
            maps.append(rest)
    if shutil.which(f"{prefix}nm"):
        symbols = _Symbols(program, maps, prefix, base)
        by_name: Counter[str] = Counter()
        for address, executed in blocks.items():
            by_name[symbols.name(address)] += executed
        found.functions = dict(by_name.most_common())
    return found


class _Symbols:
    """Addresses of the guest -> names of functions, by its maps and nm.

    The maps of an emulated board are the emulator's own: addresses are those of the firmware.
    """

    def __init__(self, program: Path, maps: Sequence[str], prefix: str, base: int) -> None:
        self.prefix = prefix
        self.firmware = str(program) if any("/qemu-system-" in line for line in maps) else ""
        self.maps: list[tuple[int, int, int, str]] = []
        self.tables: dict[str, tuple[list[int], list[str], list[tuple[int, int, int]]]] = {}
        for line in maps:
            span, _, offset, _, _, path = line.split(None, 5)
            low, high = (int(x, 16) - base for x in span.split("-"))
            self.maps.append((low, high, int(offset, 16), path.strip()))

    def name(self, address: int) -> str:
        if self.firmware:
            starts, names, _ = self._table(self.firmware)
            index = bisect.bisect_right(starts, address) - 1
            return names[index] if index >= 0 else "?"
        for low, high, offset, path in self.maps:
            if low <= address < high:
                starts, names, segments = self._table(path)
                at = address - low + offset
                linked = next((v + at - o for o, v, n in segments if o <= at < o + n), address)
                index = bisect.bisect_right(starts, linked) - 1
                return names[index] if index >= 0 else "?"
        return "?"

    def _table(self, path: str) -> tuple[list[int], list[str], list[tuple[int, int, int]]]:
        if path not in self.tables:

            def said(tool: str, option: str) -> str:
                command = [self.prefix + tool, option, path]
                return subprocess.run(command, capture_output=True, text=True).stdout

            rows = re.findall(r"^(\w+) [TtWwi] ([^$\s]\S*)$", said("nm", "-n"), re.MULTILINE)
            starts = {int(start, 16): name for start, name in rows}
            load = r"^\s+LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)"
            segments = [
                (int(o, 16), int(v, 16), int(n, 16))
                for o, v, n in re.findall(load, said("readelf", "-lW"), re.MULTILINE)
            ]
            order = sorted(starts)
            self.tables[path] = order, [starts[s] for s in order], segments
        return self.tables[path]
