"""Programs for a Cortex-M without an operating system: a package, one inference, qemu's board.

Enters: a package for ``cortexm``, the compiler with the CPU that it is told, and the inputs.
Leaves: the outputs as the program printed them, and the instructions of the inference.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tests.test_scripts import load
from tvm_megcc.core import dtypes

HERE = Path(__file__).resolve().parent
counter = load("count_instructions")
COMPILER = "arm-none-eabi-gcc"
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-overlength-strings")


@dataclass(frozen=True, slots=True)
class Board:
    """A board of qemu's and what the compiler is told of its CPU."""

    name: str
    cpu: str
    flags: tuple[str, ...]

    @property
    def compiler(self) -> tuple[str, ...]:
        return (COMPILER, f"-mcpu={self.cpu}", "-mthumb", *self.flags)


M3 = Board("mps2-an385", "cortex-m3", ())
M4 = Board("mps2-an386", "cortex-m4", ("-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"))
M7 = Board("mps2-an500", "cortex-m7", ("-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"))


def missing() -> str:
    """What cannot run here, and how it could ("" where all is there)."""
    absent = [tool for tool in (COMPILER, "qemu-system-arm") if not shutil.which(tool)]
    packages = "gcc-arm-none-eabi qemu-system-arm"
    return f"{', '.join(absent)} not found: apt install {packages}" if absent else ""


def make(package: Path, compiler: tuple[str, ...], *goals: str) -> None:
    """Build in the package's folder."""
    flags = " ".join((*WARNINGS, "-ffreestanding"))
    command = ["make", "-j2", *goals, f"CC={' '.join(compiler)}", f"EXTRA_CFLAGS={flags}"]
    done = subprocess.run(command, cwd=package, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-3000:]


def run(
    package: Path, board: Board, inputs: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], Any]:
    """One inference on a board: its outputs and what it executed."""
    manifest = json.loads((package / "manifest.json").read_text())
    (package / "case.h").write_text(_case(package, manifest, inputs))
    make(package, board.compiler, "lib")
    exe, report = package / "inference", package / "report"
    command = [
        *board.compiler, "-std=c99", "-Os", "-ffreestanding", "-ffunction-sections", *WARNINGS,
        "-nostdlib", "-Wl,--gc-sections", f"-T{HERE / 'board.ld'}", f"-I{HERE}", f"-I{package}",
        f"-I{package / 'include'}", f"-I{counter.MARKS.parent}", "-o", exe,
        HERE / "board.c", HERE / "inference.c", package / "libmodel.a", "-lgcc",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    plugin = f"{counter.plugin()},out={report},marked=1"
    emulator = ["qemu-system-arm", "-M", board.name, "-display", "none", "-monitor", "none"]
    emulator += ["-serial", "none", "-semihosting-config", "enable=on,target=native"]
    done = subprocess.run(
        [*emulator, "-plugin", plugin, "-kernel", exe], capture_output=True, text=True, timeout=120
    )
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    return _outputs(manifest, printed.split()), counter.read(exe, report)


def _case(package: Path, manifest: Mapping[str, Any], inputs: Mapping[str, np.ndarray]) -> str:
    """``case.h``: the names of the package, sizes, and the inputs' bytes."""
    header = next(p for p in (package / "include").iterdir() if not p.stem.startswith("megcc"))
    name = header.stem
    given = [
        dtypes.packed(np.ascontiguousarray(inputs[p["name"]]), p["dtype"])
        for p in manifest["inputs"]
    ]
    names = [f"input{k}" for k in range(len(given))]
    arrays = [
        f"static const unsigned char input{k}[] __attribute__((aligned(8))) = "
        f"{{{','.join(map(str, data))}}};"
        for k, data in enumerate(given)
    ]
    total = sum(_bytes(p) for p in manifest["outputs"])
    return "\n".join([
        f'#include "{name}.h"',
        f"#define IMAGE {name}_image",
        f"#define KERNELS {name}_kernels",
        f"#define ARENA_BYTES {name.upper()}_ARENA_BYTES",
        f"#define CONTEXT_BYTES {name.upper()}_CONTEXT_BYTES",
        f"#define INPUTS {len(given)}",
        f"#define OUTPUTS {len(manifest['outputs'])}",
        f"#define OUTPUT_BYTES {total}",
        *arrays,
        f"static const void *const input[] = {{{', '.join(names)}}};",
        f"static const size_t bytes[] = {{{', '.join(str(len(d)) for d in given)}}};",
        "",
    ])  # fmt: skip


def _bytes(port: Mapping[str, Any]) -> int:
    return prod(port["shape"]) * dtypes.numpy_dtype(port["dtype"]).itemsize


def _outputs(manifest: Mapping[str, Any], lines: list[str]) -> dict[str, np.ndarray]:
    ports = manifest["outputs"]
    assert len(lines) == len(ports), lines
    return {
        p["name"]: np.frombuffer(bytes.fromhex(line), dtypes.numpy_dtype(p["dtype"])).reshape(
            p["shape"]
        )
        for p, line in zip(ports, lines, strict=True)
    }
