"""Flash, RAM and stack of a model on a Cortex-M: ``tvmc inspect --for cortex-m4``.

Enters: a package with ``examples/cortexm``, and a CPU. Leaves: bytes of flash, RAM and stack of
that program. Where there is an ``arm-none-eabi-gcc`` it is built; where there is qemu, too, it
runs, and says what it used of the stack; else they are estimates.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tvm_megcc.core.cpu_names import cpu_of
from tvm_megcc.core.machine import machine
from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import call_graph, toolchain
from tvm_megcc.host.package import Package
from tvm_megcc.target import resolve

COMPILER = "arm-none-eabi-gcc"
EMULATOR = "qemu-system-arm"
_EXAMPLE = Path("examples") / "cortexm"

#: Those of the tables in the example's Makefile.
CPUS = (
    "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55",
    "cortex-m85",
)  # fmt: skip

#: For estimates: bytes of machine code of runtime and example, of a kernel by the beginning of its
#: name, and of one of another name, as gcc 12 makes them for a Cortex-M4.
RUNTIME_TEXT = 6000
KERNEL_TEXT = {
    "conv2d": 3000, "dwconv2d": 3500, "matmul": 1500, "pool2d": 700, "qconv2d": 3000,
    "dwqconv2d": 3000, "qmatmul": 1200, "qpool2d": 900, "softmax": 600, "transpose": 600,
}  # fmt: skip
OTHER_TEXT = 700
#: Bytes of constants beside weights and program, and of stack.
TABLES, STACK = 1200, 1000


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes of the example's program on a CPU."""

    #: `how`: ``measured``, ``built`` (the stack is a bound) or ``estimated``.
    cpu: str
    how: str
    #: `text`, `rodata`, `data`: machine code; weights, program and tables; what is copied to RAM at
    #: the start. In flash.
    text: int
    rodata: int
    data: int
    #: `arena`, `other_ram`: activations; all other variables: the context, the model's handle,
    #: inputs, outputs.
    arena: int
    other_ram: int
    stack: int  # bytes that an inference wrote to, of a painted stack
    stack_bound: int  # bytes of the deepest chain of calls, without interrupts

    @property
    def facts(self) -> dict[str, Any]:
        """For JSON, with the sums."""
        return {**asdict(self), "flash": self.flash, "ram": self.ram}

    @property
    def flash(self) -> int:
        return self.text + self.rodata + self.data

    @property
    def ram(self) -> int:
        """Without the stack."""
        return self.data + self.arena + self.other_ram

    def lines(self) -> Iterator[str]:
        """For people."""
        yield f"on a {self.cpu}, {_HOW[self.how]}:"
        parts = f"text {self.text:,}, rodata {self.rodata:,}, data {self.data:,}"
        yield f"  flash {self.flash:,}: {parts}"
        yield f"  ram {self.ram:,}: arena {self.arena:,}, other {self.data + self.other_ram:,}"
        bound = f"; no chain of calls takes more than {self.stack_bound:,}"
        yield f"  stack {self.stack:,}{bound if self.how == 'measured' else ''}"


_HOW = {
    "measured": "examples/cortexm built and run by qemu",
    "built": f"examples/cortexm built (no {EMULATOR}: the stack is a bound)",
    "estimated": f"estimated from a table (no {COMPILER}: apt install gcc-arm-none-eabi)",
}


def footprint(package: Package, cpu: str) -> Footprint:
    """Flash, RAM and stack of the package's example on a CPU.

    Raises InputError for a CPU that is not in the example's table, or a package without the
    example; ToolError if the compiler does not know the CPU, or the build or the run fails.
    """
    word, cpu = cpu, cpu_of(cpu)
    if cpu not in CPUS:
        raise InputError(f"--for {word}: there is no table for this CPU; use {', '.join(CPUS)}")
    if not (package.path / _EXAMPLE / "Makefile").is_file():
        raise InputError(
            f"'{package.path}' has no program for a Cortex-M; compile the model with --mcpu {cpu},"
            " fixed shapes, one pool of memory, and without --weights bin"
        )
    arch = next(a for a in package.archs if a.startswith("cortexm"))
    (own,) = resolve([], [cpu])
    if not machine(own).includes(machine(arch)):
        raise InputError(
            f"--for {cpu}: '{package.path}' is for {arch}, which this CPU is not; compile the model"
            f" with --mcpu {cpu}"
        )
    facts = package.manifest["per_arch"][arch]
    if shutil.which(COMPILER) is None:
        return _estimated(cpu, package.manifest, facts)
    _check_known(cpu)
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory:
        root = Path(directory) / "package"
        shutil.copytree(package.path, root, ignore=shutil.ignore_patterns("obj", "*.a", "build"))
        folder = root / _EXAMPLE
        _make(folder, cpu, "firmware.elf")
        texts = (path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.ci")))
        graph = call_graph.read(texts)
        bound = graph.deepest("reset", facts["kernels"])
        sizes = _sections(folder / "firmware.elf")
        stack, how = bound, "built"
        if shutil.which(EMULATOR) is not None:
            stack, how = _painted(_make(folder, cpu, "run")), "measured"
    return Footprint(
        cpu, how, sizes[".text"], sizes[".rodata"] + sizes.get(".ARM.exidx", 0), sizes[".data"],
        facts["arena_bytes"], sizes[".bss"] - facts["arena_bytes"], stack, bound,
    )  # fmt: skip


def _estimated(cpu: str, manifest: Mapping[str, Any], facts: Mapping[str, Any]) -> Footprint:
    text = RUNTIME_TEXT
    for symbol in facts["kernels"]:
        name = symbol.removeprefix("megcc_").split("_")[0]
        text += KERNEL_TEXT.get(name, OTHER_TEXT)
    rodata = facts["weight_bytes"] + facts["program_bytes"] + TABLES
    ports = sum(port["bytes"] for side in ("inputs", "outputs") for port in manifest[side])
    other = ports + 512 + 256 + 64  # model, context, alignment of the arena
    return Footprint(cpu, "estimated", text, rodata, 0, facts["arena_bytes"], other, STACK, STACK)


def _check_known(cpu: str) -> None:
    command = [COMPILER, f"-mcpu={cpu}", "-E", "-x", "c", "-"]
    if subprocess.run(command, input=b"", capture_output=True).returncode != 0:
        version = subprocess.run([COMPILER, "-dumpversion"], capture_output=True, text=True).stdout
        raise ToolError(
            f"{COMPILER} {version.strip()} does not know -mcpu={cpu}; take a newer one, or an older"
            " CPU that the code is for as well (cortex-m55)"
        )


def _make(folder: Path, cpu: str, goal: str) -> str:
    """Build or run the example; its printed text."""
    command = ["make", "-s", "-j2", goal, f"CPU={cpu}", "EXTRA_CFLAGS=-fcallgraph-info=su"]
    # ccache keeps objects, but not what gcc says of their functions.
    environment = {**toolchain.make_environment(), "CCACHE_DISABLE": "1"}
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=600,
        env=environment,
    )
    if done.returncode != 0:
        what = f"examples/cortexm for {cpu} ({' '.join(command)})"
        raise toolchain.failure(what, done.stdout + done.stderr)
    return done.stdout + done.stderr


def _sections(program: Path) -> dict[str, int]:
    """Bytes of each section."""
    tool = COMPILER.replace("gcc", "size")
    done = subprocess.run([tool, "-A", program], capture_output=True, text=True, check=True)
    rows = (line.split() for line in done.stdout.splitlines())
    return {r[0]: int(r[1]) for r in rows if len(r) == 3 and r[1].isdigit()}


def _painted(printed: str) -> int:
    found = re.search(r"^stack: (\d+) bytes$", printed, re.M)
    if found is None:
        raise ToolError(f"examples/cortexm did not say what it used of the stack:\n{printed}")
    return int(found[1])
