"""ONNX Runtime's instructions on arm64: its wheel in a folder of an Arm Debian, under qemu.

The folder has a Python with what it needs below ``usr``, and NumPy and ONNX Runtime below ``site``.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import instruction_table
import numpy as np

from tvm_megcc.core.machine import ROWS
from tvm_megcc.errors import ToolError
from tvm_megcc.host import instruction_counts

#: What runs in the emulator: one run of each set of inputs before the one that is counted, which
#: allocates and packs.
GUEST = """
import ctypes, sys
import numpy as np, onnxruntime as ort
marks = ctypes.CDLL(sys.argv[1])
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.log_severity_level = 3
session = ort.InferenceSession(sys.argv[2], options, providers=["CPUExecutionProvider"])
for path in sys.argv[3:]:
    feeds = dict(np.load(path))
    session.run(None, feeds)
    marks.begin()
    session.run(None, feeds)
    marks.end()
"""
MARKS = """
void begin(void) { MEGCC_COUNT_BEGIN(); }
void end(void) { MEGCC_COUNT_END(); }
"""
TIMEOUT_S = 1800
#: The core that ONNX Runtime is told of by the folder's ``proc/cpuinfo``, where there is one.
CPU = "neoverse-n1"


def instructions(
    model: Path, inputs: Sequence[Mapping[str, np.ndarray]], sysroot: Path
) -> list[int]:
    """Instructions of one run of a model at each set of inputs, some 20,000 of Python's included.

    Raises InputError if `sysroot` has no Python for Arm, ToolError if a tool is missing or the run
    fails.
    """
    python = sysroot / "usr/bin/python3.11"
    with tempfile.TemporaryDirectory(prefix="megcc_peer_") as name:
        folder = Path(name)
        guest, report = folder / "guest.py", folder / "report"
        guest.write_text(GUEST)
        marks = _marks(folder)
        feeds = [folder / f"{k}.npz" for k in range(len(inputs))]
        for path, given in zip(feeds, inputs, strict=True):
            np.savez(path, **given)
        line = instruction_counts.launcher(python, report, marked=True, cpu=CPU)
        line += ["-L", str(sysroot), "-E", f"PYTHONPATH={sysroot / 'site'}", str(python)]
        line += [str(path) for path in (guest, marks, model, *feeds)]
        try:
            done = subprocess.run(line, timeout=TIMEOUT_S, capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            raise ToolError(f"ONNX Runtime did not finish within {TIMEOUT_S} seconds") from None
        if done.returncode:
            raise ToolError(f"ONNX Runtime under qemu: {done.stderr.strip()[-300:]}")
        return instruction_counts.read(python, report).regions


def _marks(folder: Path) -> Path:
    """A library for Arm whose functions are the marks of `instruction_counts`."""
    built = folder / "marks.so"
    command = [ROWS[instruction_table.ARCH].compiler, "-O2", "-shared", "-fPIC", "-x", "c", "-"]
    command += ["-include", str(instruction_counts.MARKS), "-o", str(built)]
    try:
        done = subprocess.run(command, input=MARKS, capture_output=True, text=True)
    except OSError as error:
        raise ToolError(f"{command[0]}: {error.strerror}; apt install it") from None
    if done.returncode:
        raise ToolError(f"{command[0]}: {done.stderr.strip()[-300:]}")
    return built
