"""The program in a package's ``examples/cortexm``: built for a CPU, and run on a board of qemu's.

Enters: a folder with a package, which the program is built in, and a CPU. Leaves: what ``make``
printed; of a run the outputs, the stack that was used, and the executed instructions.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tvm_megcc.core import dtypes
from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import instruction_counts, toolchain
from tvm_megcc.host.arrays import Arrays

COMPILER = "arm-none-eabi-gcc"
EMULATOR = "qemu-system-arm"
EXAMPLE = Path("examples") / "cortexm"
PROGRAM = EXAMPLE / "firmware.elf"
#: For a build, or a run.
TIMEOUT_S = 600


@dataclass(frozen=True, slots=True)
class Answer:
    """What the program printed, and what it executed between its marks."""

    outputs: Arrays
    stack_bytes: int
    counts: instruction_counts.Counts
    #: Number and instructions of each call that was executed, in order.
    calls: tuple[tuple[int, int], ...] = ()


def missing() -> str:
    """The tools that are not installed, and how to install them; "" if there are all."""
    absent = [tool for tool in (COMPILER, EMULATOR) if not shutil.which(tool)]
    packages = "gcc-arm-none-eabi qemu-system-arm"
    return f"{', '.join(absent)} not found: apt install {packages}" if absent else ""


def check(package: Path, cpu: str) -> None:
    """Raise InputError if the package in a folder has no example."""
    if not (package / EXAMPLE / "Makefile").is_file():
        raise InputError(
            f"'{package}' has no program for a Cortex-M; compile the model with --mcpu {cpu},"
            " fixed shapes, one pool of memory, and without --weights bin"
        )


@dataclass(frozen=True, slots=True)
class Firmware:
    """The example of a package, which has a folder of its own, for a CPU.

    `flags` are added to the compiler's, `variables` to those of ``make``. A method raises
    InputError if the package has no example, ToolError if a tool is missing or fails.
    """

    package: Path
    cpu: str
    flags: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    variables: tuple[str, ...] = ()

    def build(self) -> Path:
        """The program."""
        self._make(PROGRAM.name)
        return self.package / PROGRAM

    def run(self) -> str:
        """Run one inference of zeros; the printed text."""
        return self._make("run")

    def counted(
        self, inputs: Mapping[str, np.ndarray] | None = None, *, by_call: bool = False
    ) -> Answer:
        """Run one inference, of zeros if there are no inputs, and count its instructions.

        `by_call` counts each call of the program by itself, with some 20 instructions of a hook;
        the totals are without what is between calls. Raises InputError for inputs that are not the
        package's.
        """
        manifest = json.loads((self.package / "manifest.json").read_text(encoding="utf-8"))
        marks = instruction_counts.CALL_MARKS if by_call else instruction_counts.MARKS
        with tempfile.TemporaryDirectory(prefix="megcc-firmware-") as folder:
            report = Path(folder, "report")
            variables = [
                f"HOOKS=-iquote . -include {marks}",
                f"QEMU={EMULATOR} -plugin {instruction_counts.plugin()},out={report},marked=1",
            ]
            if inputs is not None:
                given = Path(folder, "inputs.bin")
                given.write_bytes(packed(manifest["inputs"], inputs))
                variables.append(f"INPUTS={given}")
            printed = self._make("run", *variables)
            counts = instruction_counts.read(self.package / PROGRAM, report)
        numbers = [int(number) for number in re.findall(r"^call: (\d+)$", printed, re.M)]
        if (regions := counts.totals["regions"]) != (len(numbers) if by_call else 1):
            raise ToolError(f"{EXAMPLE.as_posix()} has {regions} counted regions, which is wrong")
        calls = tuple(zip(numbers, counts.regions, strict=True)) if by_call else ()
        return Answer(outputs_of(manifest["outputs"], printed), stack_of(printed), counts, calls)

    def _make(self, goal: str, *variables: str) -> str:
        check(self.package, self.cpu)
        if shutil.which(COMPILER) is None or (goal == "run" and shutil.which(EMULATOR) is None):
            raise ToolError(missing())
        command = ["make", "-s", "-j2", goal, f"CPU={self.cpu}", *self.variables, *variables]
        command += [f"EXTRA_CFLAGS={' '.join(self.flags)}"] if self.flags else []
        what = f"{EXAMPLE.as_posix()} for {self.cpu}"
        try:
            done = subprocess.run(
                command,
                cwd=self.package / EXAMPLE,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT_S,
                env={**toolchain.make_environment(), **self.environment},
            )
        except subprocess.TimeoutExpired:
            raise ToolError(f"{what} did not end within {TIMEOUT_S} seconds") from None
        printed = done.stdout + done.stderr
        if done.returncode != 0:
            raise toolchain.failure(f"{what} ({' '.join(command)})", printed)
        return printed


def packed(ports: Sequence[Mapping[str, Any]], inputs: Mapping[str, np.ndarray]) -> bytes:
    """Arrays for the example's INPUTS: one after another, each at a multiple of 8 bytes.

    Raises InputError if one is missing, or of another shape.
    """
    data = b""
    for port in ports:
        array = inputs.get(port["name"])
        if array is None or list(array.shape) != list(port["shape"]):
            given = "none is given" if array is None else f"given is {list(array.shape)}"
            raise InputError(f"the input {port['name']!r} has the shape {port['shape']}; {given}")
        data += dtypes.packed(np.ascontiguousarray(array), port["dtype"])
        data += bytes(-len(data) % 8)
    return data


def stack_of(printed: str) -> int:
    """Bytes of the stack that the program says it used; ToolError if it does not say so."""
    found = re.search(r"^stack: (\d+) bytes$", printed, re.M)
    if found is None:
        raise ToolError(f"examples/cortexm did not say what it used of the stack:\n{printed}")
    return int(found[1])


def sections(program: Path) -> dict[str, int]:
    """Bytes of each section."""
    tool = COMPILER.replace("gcc", "size")
    done = subprocess.run([tool, "-A", program], capture_output=True, text=True, check=True)
    rows = (line.split() for line in done.stdout.splitlines())
    return {r[0]: int(r[1]) for r in rows if len(r) == 3 and r[1].isdigit()}


def outputs_of(ports: Sequence[Mapping[str, Any]], printed: str) -> Arrays:
    """The outputs in the printed text; ToolError if there are more or fewer."""
    lines = [line for line in printed.splitlines() if re.fullmatch("(?:[0-9a-f]{2})*", line)]
    if len(lines) != len(ports):
        raise ToolError(f"examples/cortexm printed {len(lines)} outputs, not {len(ports)}")
    return {
        port["name"]: np.frombuffer(bytes.fromhex(line), dtypes.numpy_dtype(port["dtype"])).reshape(
            port["shape"]
        )
        for port, line in zip(ports, lines, strict=True)
    }
