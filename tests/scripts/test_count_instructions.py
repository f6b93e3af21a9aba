"""The counter of executed Arm instructions counts what the program says it executes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tvm_megcc import zoo
from tvm_megcc.host import instruction_counts

from .test_scripts import load, needs_cc

pytestmark = pytest.mark.emulator

counter = load("count_instructions")

#: Between the marks: 7 and 2 times a multiply-add of four lanes and a load of 16 bytes, no loop.
#: Without a C library the program is three files shorter and quick to build.
PROGRAM = """
#include "marks.h"
static const float values[4] = {1, 2, 3, 4};
#if defined(__aarch64__)
#define STEP "fmla v0.4s, v1.4s, v2.4s\\n ldr q3, [%0]\\n"
#define END "mov x0, 0\\n mov x8, 93\\n svc 0"
#define CLOBBERED "v0", "v3", "x0", "x8"
#else
#define STEP "vmla.f32 q0, q1, q2\\n vld1.32 {d6, d7}, [%0]\\n"
#define END "mov r0, #0\\n mov r7, #1\\n svc 0"
#define CLOBBERED "q0", "q3", "r0", "r7"
#endif
void _start(void) {
  __asm__ volatile(STEP STEP STEP ::"r"(values) : CLOBBERED);
  MEGCC_COUNT_BEGIN();
  __asm__ volatile(STEP STEP STEP STEP STEP STEP STEP ::"r"(values) : CLOBBERED);
  MEGCC_COUNT_END();
  MEGCC_COUNT_BEGIN();
  __asm__ volatile(STEP STEP ::"r"(values) : CLOBBERED);
  MEGCC_COUNT_END();
  __asm__ volatile(END ::: CLOBBERED);
}
"""

MACHINES = {
    "arm64": ("aarch64-linux-gnu-gcc", [], "qemu-aarch64"),
    "armv7": ("arm-linux-gnueabihf-gcc", ["-marm", "-mfpu=neon-vfpv4"], "qemu-arm"),
    "thumb": ("arm-linux-gnueabihf-gcc", ["-mthumb", "-mfpu=neon-vfpv4"], "qemu-arm"),
}


def build(machine: str, folder: Path) -> Path:
    compiler, flags, qemu = MACHINES[machine]
    for need in (compiler, qemu, "cc"):
        if not shutil.which(need):
            pytest.skip(f"needs {need}")
    source, program = folder / "p.c", folder / machine
    source.write_text(PROGRAM)
    flags = [*flags, "-O1", "-fomit-frame-pointer", "-nostdlib", "-static"]
    command = [compiler, *flags, f"-I{instruction_counts.HERE}", "-o", str(program), str(source)]
    subprocess.run(command, check=True)
    return program


@pytest.mark.parametrize("machine", MACHINES)
def test_count_instructions_between_marks(machine: str, tmp_path: Path) -> None:
    program = build(machine, tmp_path)
    counts = instruction_counts.count([program], marked=True)
    assert counts.totals["regions"] == 2
    assert counts.totals["mac_f32"] == 9 * 4
    assert counts.totals["load_bytes"] == 9 * 16
    assert counts.classes["fma_f32"][0] == counts.classes["load_vec"][0] == 9
    first, second = counts.regions  # the compiler may load the address again
    assert 14 <= first <= 17 and 4 <= second <= 7
    assert counts.totals["instructions"] == first + second
    assert counts.functions == {"_start": counts.totals["instructions"]}
    whole = instruction_counts.count([program])
    assert whole.totals["mac_f32"] == 12 * 4


def test_count_instructions_of_no_arm_program(tmp_path: Path, capsys) -> None:
    (tmp_path / "x").write_text("#!/bin/sh\n")
    assert counter.main([str(tmp_path / "x")]) == 1
    assert "is no program for Arm" in capsys.readouterr().err
    assert counter.main([str(tmp_path / "none")]) == 1
    assert "No such file" in capsys.readouterr().err


def test_count_instructions_says_what_is_missing(tmp_path, capsys, monkeypatch) -> None:
    """No qemu, a qemu without plugins, a program that fails: one sentence each."""
    program = build("arm64", tmp_path)
    which = shutil.which
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "which", lambda name: None if "qemu" in name else which(name))
        assert counter.main([str(program)]) == 1
    assert "apt install qemu-user" in capsys.readouterr().err
    fake = tmp_path / "qemu"
    fake.write_text("#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "which", lambda name: str(fake) if "qemu" in name else which(name))
        assert counter.main([str(program)]) == 1
    assert "one with plugins" in capsys.readouterr().err


@needs_cc
def test_count_instructions_of_a_model(tmp_path: Path, capsys) -> None:
    """Through `scripts/bench`: exact, repeatable, and of a whole inference."""
    build("arm64", tmp_path)  # or skip
    model = tmp_path / "m.onnx"
    model.write_bytes(zoo.build("tiny_mlp").SerializeToString())
    bench = load("bench")
    rows = []
    for run in ("a", "b"):
        row = bench.Row(run)
        (tmp_path / run).mkdir()
        bench.count_instructions(model, "arm64", tmp_path / run, row, None)
        rows.append(row.instructions["arm64"])
    assert rows[0] == rows[1] > 1000
