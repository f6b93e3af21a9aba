"""Packages for a Cortex-M on qemu's boards, built without a warning."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tests.c_warnings import strict
from tvm_megcc.host import firmware

COMPILER = firmware.COMPILER
WARNINGS = (*strict(COMPILER), "-ffreestanding")
missing = firmware.missing

#: CPUs of the boards that qemu has.
CPUS = ("cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")


def make(folder: Path, *given: str) -> str:
    """Build in a folder of the package; the printed text."""
    command = ["make", "-s", "-j2", *given, f"EXTRA_CFLAGS={' '.join(WARNINGS)}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def run(package: Path, cpu: str, inputs: Mapping[str, np.ndarray], *given: str) -> firmware.Answer:
    """One inference on the board with this CPU; `given` are variables of the example's Makefile."""
    return firmware.Firmware(package, cpu, WARNINGS, variables=given).counted(inputs)
