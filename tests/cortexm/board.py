"""The program that packages for a Cortex-M have in ``examples/cortexm``, on qemu's boards.

Enters: a package for ``cortexm``, a CPU, and the inputs. Leaves: the outputs as the program printed
them, the stack that it used, and the instructions of the inference.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.c_warnings import strict
from tvm_megcc.core import dtypes
from tvm_megcc.host import instruction_counts

COMPILER = "arm-none-eabi-gcc"
WARNINGS = strict("arm-none-eabi-gcc")


#: CPUs of the boards that qemu has.
CPUS = ("cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the program printed, and what it executed between its marks."""

    outputs: dict[str, np.ndarray]
    stack_bytes: int
    counts: Any


def missing() -> str:
    """What cannot run here, and how it could ("" where all is there)."""
    absent = [tool for tool in (COMPILER, "qemu-system-arm") if not shutil.which(tool)]
    packages = "gcc-arm-none-eabi qemu-system-arm"
    return f"{', '.join(absent)} not found: apt install {packages}" if absent else ""


def make(folder: Path, *given: str) -> str:
    """Build in a folder of the package, without a warning; what was printed."""
    flags = " ".join((*WARNINGS, "-ffreestanding"))
    command = ["make", "-s", "-j2", *given, f"EXTRA_CFLAGS={flags}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def run(package: Path, cpu: str, inputs: Mapping[str, np.ndarray]) -> Answer:
    """One inference on the board with this CPU."""
    manifest = json.loads((package / "manifest.json").read_text())
    data = b""
    for port in manifest["inputs"]:
        data += dtypes.packed(np.ascontiguousarray(inputs[port["name"]]), port["dtype"])
        data += bytes(-len(data) % 8)
    (package / "inputs.bin").write_bytes(data)
    folder, report = package / "examples" / "cortexm", package / "report"
    printed = make(
        folder,
        "run",
        f"CPU={cpu}",
        f"INPUTS={package / 'inputs.bin'}",
        f"CPPFLAGS=-include {instruction_counts.MARKS}",
        f"QEMU=qemu-system-arm -plugin {instruction_counts.plugin()},out={report},marked=1",
    )
    *lines, stack = printed.strip().splitlines()
    match = re.fullmatch(r"stack: (\d+) bytes", stack)
    assert match is not None, printed
    counts = instruction_counts.read(folder / "firmware.elf", report)
    return Answer(_outputs(manifest, lines), int(match[1]), counts)


def _outputs(manifest: Mapping[str, Any], lines: list[str]) -> dict[str, np.ndarray]:
    ports = manifest["outputs"]
    assert len(lines) == len(ports), lines
    return {
        p["name"]: np.frombuffer(bytes.fromhex(line), dtypes.numpy_dtype(p["dtype"])).reshape(
            p["shape"]
        )
        for p, line in zip(ports, lines, strict=True)
    }
