"""Flash, RAM and stack of a model on a Cortex-M: ``tvmc inspect --for cortex-m4``.

Enters: a package with ``examples/cortexm``, and a CPU or board. Leaves: bytes of flash, RAM and
stack of that program. Where there is an ``arm-none-eabi-gcc`` it is built; where there is qemu,
too, it runs, and says what it used of the stack and executed; else they are estimates.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tvm_megcc.core.board_table import Board, find
from tvm_megcc.core.cpu_names import cpu_of
from tvm_megcc.core.machine import machine
from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import call_graph, firmware
from tvm_megcc.host.firmware import COMPILER, EMULATOR, Firmware
from tvm_megcc.host.instruction_counts import plugin
from tvm_megcc.host.package import Package
from tvm_megcc.target import resolve

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
class Executed:
    """Instructions of one inference of zeros."""

    arch: str  # machine of the code
    instructions: int | None = None
    #: Number and instructions of each call of the program, in the order of the run.
    calls: tuple[tuple[int, int], ...] = ()
    not_counted: str = ""  # why there are none
    copying: int = 0  # instructions of the C library's memcpy and memmove


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
    executed: Executed
    board: Board | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """For JSON, with the sums, and without the calls."""
        facts = {**asdict(self), "flash": self.flash, "ram": self.ram}
        facts["instructions"] = facts.pop("executed")["instructions"]
        board = facts.pop("board")
        if board is not None:
            facts["board"] = {key: board[key] for key in ("name", "flash", "ram")}
        return facts

    @property
    def flash(self) -> int:
        return self.text + self.rodata + self.data

    @property
    def ram(self) -> int:
        """Without the stack."""
        return self.data + self.arena + self.other_ram

    def lines(self) -> Iterator[str]:
        """For people."""
        where = self.cpu if self.board is None else f"{self.board.name}, a {self.cpu}"
        yield f"on a {where}, {_HOW[self.how]}:"
        parts = f"text {self.text:,}, rodata {self.rodata:,}, data {self.data:,}"
        yield f"  flash {self.flash:,}: {parts}"
        yield f"  ram {self.ram:,}: arena {self.arena:,}, other {self.data + self.other_ram:,}"
        bound = f"; no chain of calls takes more than {self.stack_bound:,}"
        yield f"  stack {self.stack:,}{bound if self.how == 'measured' else ''}"
        yield from self._of_board()

    def _of_board(self) -> Iterator[str]:
        """The share of the board's flash, and of its RAM with the stack."""
        if self.board is None:
            return
        for name, needed, there in [
            ("flash", self.flash, self.board.flash),
            ("RAM", self.ram + self.stack, self.board.ram),
        ]:
            share = f"{100 * needed / there:.1f} % of {there:,} bytes"
            over = f": {needed - there:,} are missing" if needed > there else ""
            stack = " with the stack" if name == "RAM" else ""
            yield f"  {needed:,} of {name}{stack} are {share} on {self.board}{over}"


_HOW = {
    "measured": "examples/cortexm built and run by qemu",
    "built": f"examples/cortexm built (no {EMULATOR}: the stack is a bound)",
    "estimated": f"estimated from a table (no {COMPILER}: apt install gcc-arm-none-eabi)",
}


def footprint(package: Package, cpu: str) -> Footprint:
    """Flash, RAM and stack of the package's example on a CPU, or a board of `core.board_table`.

    Raises InputError for a CPU that is not in the example's table, or a package without the
    example; ToolError if the compiler does not know the CPU, or the build or the run fails.
    """
    word, board = cpu, find(cpu)
    cpu = cpu_of(word) if board is None else board.cpu
    if cpu not in CPUS:
        raise InputError(
            f"--for {word}: there is no table for this CPU; use {', '.join(CPUS)}, or a board of"
            " tvmc boards"
        )
    firmware.check(package.path, cpu)
    arch = next(a for a in package.archs if a.startswith("cortexm"))
    (own,) = resolve([], [cpu])
    if not machine(own).includes(machine(arch)):
        raise InputError(
            f"--for {word}: '{package.path}' is for {arch}, which this CPU is not; compile the"
            f" model with {f'--mcpu {cpu}' if board is None else f'--board {board.name}'}"
        )
    facts = package.manifest["per_arch"][arch]
    if shutil.which(COMPILER) is None:
        return replace(_estimated(cpu, package.manifest, arch), board=board)
    _check_known(cpu)
    with tempfile.TemporaryDirectory(prefix="tvm_megcc.") as directory:
        root = Path(directory) / "package"
        shutil.copytree(package.path, root, ignore=shutil.ignore_patterns("obj", "*.a", "build"))
        # ccache keeps objects, but not what gcc says of their functions.
        example = Firmware(root, cpu, ("-fcallgraph-info=su",), {"CCACHE_DISABLE": "1"})
        program = example.build()
        texts = (path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.ci")))
        graph = call_graph.read(texts)
        bound = graph.deepest("reset", facts["kernels"])
        sizes = firmware.sections(program)
        stack, how = bound, "built"
        executed = Executed(arch, not_counted=f"no {EMULATOR}; apt install qemu-system-arm")
        if shutil.which(EMULATOR) is not None:
            how = "measured"
            stack, executed = _run(example, arch)
    return Footprint(
        cpu, how, sizes[".text"], sizes[".rodata"] + sizes.get(".ARM.exidx", 0), sizes[".data"],
        facts["arena_bytes"], sizes[".bss"] - facts["arena_bytes"], stack, bound, executed, board,
    )  # fmt: skip


def _run(example: Firmware, arch: str) -> tuple[int, Executed]:
    """The stack that an inference used, and its instructions if they can be counted."""
    try:
        plugin()
    except ToolError as error:
        return firmware.stack_of(example.run()), Executed(arch, not_counted=str(error))
    whole, parts = example.counted(), example.counted(by_call=True)
    copying = sum(whole.counts.functions.get(name, 0) for name in ("memcpy", "memmove"))
    total = whole.counts.totals["instructions"]
    return whole.stack_bytes, Executed(arch, total, parts.calls, copying=copying)


def _estimated(cpu: str, manifest: Mapping[str, Any], arch: str) -> Footprint:
    facts = manifest["per_arch"][arch]
    text = RUNTIME_TEXT
    for symbol in facts["kernels"]:
        name = symbol.removeprefix("megcc_").split("_")[0]
        text += KERNEL_TEXT.get(name, OTHER_TEXT)
    rodata = facts["weight_bytes"] + facts["program_bytes"] + TABLES
    ports = sum(port["bytes"] for side in ("inputs", "outputs") for port in manifest[side])
    other = ports + 512 + 256 + 64  # model, context, alignment of the arena
    executed = Executed(arch, not_counted=f"no {COMPILER}; apt install gcc-arm-none-eabi")
    return Footprint(
        cpu, "estimated", text, rodata, 0, facts["arena_bytes"], other, STACK, STACK, executed
    )


def _check_known(cpu: str) -> None:
    command = [COMPILER, f"-mcpu={cpu}", "-E", "-x", "c", "-"]
    if subprocess.run(command, input=b"", capture_output=True).returncode != 0:
        version = subprocess.run([COMPILER, "-dumpversion"], capture_output=True, text=True).stdout
        raise ToolError(
            f"{COMPILER} {version.strip()} does not know -mcpu={cpu}; take a newer one, or an older"
            " CPU that the code is for as well (cortex-m55)"
        )
