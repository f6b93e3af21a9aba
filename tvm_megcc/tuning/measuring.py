"""Costs of each call of a compiled model: instructions under qemu, or time.

Enters: a program, and inputs. Leaves: a `Run`: the whole model's cost, the cost of each execution
of each call, and the outputs. The package is built with `runtime/debug/megcc_tune.c` around it,
which listens to the profile hook; the package's own sources are what they always are.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from tvm_megcc.codegen_c import emit
from tvm_megcc.core.contents import Content, to_bytes
from tvm_megcc.core.machine import machine
from tvm_megcc.core.program import Bundle, Program
from tvm_megcc.core.this_machine import is_native
from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import instruction_counts, package, toolchain

Arrays = Mapping[str, np.ndarray]

#: Runs of which times are taken, after one that is not timed.
REPEAT = 15


@dataclass(frozen=True, slots=True)
class Run:
    """Costs of one run of a built program, in the unit of its measurer."""

    whole: float  # of the whole model
    spread: float  # difference of `whole` from run to run
    calls: Mapping[int, tuple[float, ...]]  # number of a call -> cost of each of its executions
    outputs: Mapping[str, np.ndarray]


class Measurer(Protocol):
    """Something that builds and runs.

    Attributes
    ----------
    unit : {"instructions", "ns"}
    device : str
        As in records.
    slots : int
        How many programs it can measure at once.
    """

    @property
    def unit(self) -> str: ...

    @property
    def device(self) -> str: ...

    @property
    def slots(self) -> int: ...

    def run(
        self, program: Program | Bundle, cases: Sequence[Arrays], limit: float | None, folder: Path
    ) -> list[Run]:
        """A run for each set of inputs.

        `limit`: seconds for each, None for any. `folder` is kept between runs of one model, so that
        only changed files are compiled. Raises ToolError if a tool is missing, or the build or a
        run fails; NoBoardError if nothing can be measured any more.
        """
        ...


class NoBoardError(ToolError):
    """No device is left; says nothing about the program that was to be measured."""


@dataclass(frozen=True, slots=True)
class Local:
    """This machine: by time, or under qemu by instructions.

    Raises InputError or ToolError, before anything is compiled, if the machine cannot be measured
    so.
    """

    arch: str
    unit: str

    def __post_init__(self) -> None:
        row = machine(self.arch).arch
        if self.unit == "ns" and not is_native(self.arch):
            raise InputError(
                f"--measure time: this machine does not run {self.arch} itself; count with"
                " --measure instructions, or measure on a board with --rpc-tracker"
            )
        if self.unit == "instructions":
            if row.name not in ("arm64", "armv7"):
                raise InputError(
                    f"--measure instructions: they are counted for Arm only, not for {self.arch};"
                    " use --measure time"
                )
            instruction_counts.plugin()
        toolchain.find_compiler(self.arch)

    @property
    def slots(self) -> int:
        """1: times would disturb each other, and a build uses all cores."""
        return 1

    @property
    def device(self) -> str:
        return "qemu" if self.unit == "instructions" else "local"

    def run(
        self, program: Program | Bundle, cases: Sequence[Arrays], limit: float | None, folder: Path
    ) -> list[Run]:
        exe = build(program, self.arch, folder)
        manifest = package.load(folder / "package").manifest
        return [self._run(exe, manifest, inputs, limit) for inputs in cases]

    def _run(
        self, exe: Path, manifest: Mapping[str, object], inputs: Arrays, limit: float | None
    ) -> Run:
        counted = self.unit == "instructions"
        with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory:
            times, report = Path(directory, "times"), Path(directory, "report")
            done = toolchain.run_package(
                exe,
                self.arch,
                inputs,
                manifest,
                repeat=1 if counted else REPEAT,
                timeout=limit,
                launcher=instruction_counts.launcher(exe, report, marked=True) if counted else None,
                environment={"MEGCC_TUNE": str(times)},
            )
            rows = [line.split() for line in times.read_text(encoding="utf-8").splitlines()]
            numbers = [int(row[0]) for row in rows]
            if not counted:
                costs = by_call(numbers, [float(row[1]) for row in rows])
                return Run(*middle([1e6 * ms for ms in done.times_ms]), costs, done.outputs)
            regions = instruction_counts.read(exe, report).regions
        if len(regions) != 1 + len(numbers):
            raise ToolError(f"{len(regions)} regions were counted, not {1 + len(numbers)}")
        return Run(regions[0], 0.0, by_call(numbers, regions[1:]), done.outputs)


def middle(samples: Sequence[float]) -> tuple[float, float]:
    """Median, and the distance between the first and third quartile."""
    if len(samples) < 2:
        return samples[0], 0.0
    first, median, last = statistics.quantiles(samples, n=4)
    return median, last - first


def by_call(numbers: Sequence[int], costs: Sequence[float]) -> dict[int, tuple[float, ...]]:
    """Costs in the order of execution, by the call's number."""
    found: dict[int, list[float]] = {}
    for number, cost in zip(numbers, costs, strict=True):
        found.setdefault(number, []).append(cost)
    return {number: tuple(row) for number, row in found.items()}


def build(program: Program | Bundle, arch: str, folder: Path) -> Path:
    """The runner of a program's package, which is put into `folder`, with the hooks around runs."""
    flags, sources = toolchain.hooks("megcc_tune")
    write_changed(emit.package({arch: program}, name=program.name), folder / "package")
    return toolchain.build(
        folder / "package",
        arch,
        build_dir=folder / "build",
        extra_cflags=[*flags, f"-I{instruction_counts.HERE}"],
        extra_sources=sources,
    )


def write_changed(tree: Mapping[str, Content], root: Path) -> None:
    """Make `root` hold these files; unchanged files keep their times, so that make skips them."""
    for path in [p for p in root.rglob("*") if p.is_file()]:
        if path.relative_to(root).as_posix() not in tree:
            path.unlink()
    for name, content in tree.items():
        path, data = root / name, to_bytes(content)
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


@contextmanager
def workshop() -> Iterator[Path]:
    """A folder for builds that goes away."""
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as folder:
        yield Path(folder)
