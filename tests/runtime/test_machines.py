"""Packages for machines with features: what is refused, what is chosen, what is shared."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tvm_megcc.codegen_c import emit
from tvm_megcc.codegen_c.emit import weight_segments
from tvm_megcc.core.contents import Content
from tvm_megcc.core.machine import machine
from tvm_megcc.core.program import Kernel, Weight
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.host import toolchain

from . import programs as p
from .test_runtime import compile_and_run

#: Architecture -> a CPU without, and one with the features of the machines below.
CPUS = {
    "arm64": ("cortex-a57", "max"),
    "armv7": ("cortex-a9", "cortex-a15"),
    "x86": ("qemu64", "max"),
}
FEATURED = ("arm64+dotprod", "armv7+fma", "x86+avx2")


def adders(*names: str, kernel: Kernel = p.ADD, form: str = "c") -> dict[str, Content]:
    """A package that adds 10 on the first machine, 2 on the second."""
    programs = {
        name: p.adder(name, np.full(6, value, "f4"), kernel=kernel)
        for name, value in zip(names, (10, 2), strict=False)
    }
    return emit.package(programs, name="adder", weights=form)


def built(files: dict[str, Content], folder: Path, arch: str) -> Path:
    strict = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-overlength-strings"]
    try:
        return toolchain.build(p.write(files, folder), arch, extra_cflags=strict)
    except toolchain.ToolError as error:
        if "apt install" in str(error):
            pytest.skip(str(error))
        raise


def emulated(cpu: str, arch: str, exe: Path, *args: str) -> str:
    """What the runner says on a CPU: the added number, or its error."""
    qemu = shutil.which(machine(arch).arch.qemu)
    if qemu is None:
        pytest.skip(f"{machine(arch).arch.qemu} is not installed")
    x = exe.parent / "x.bin"
    x.write_bytes(bytes(24))
    command = [qemu, "-cpu", cpu, exe, "--input", f"x={x}", *args]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip()
    found = re.search(r"min (\S+) max (\S+)", done.stdout)
    assert found and found[1] == found[2], done.stdout
    return found[1]


LACKS = "run: error: {}: this CPU lacks instructions that the model was compiled for"


@pytest.mark.emulator
@pytest.mark.parametrize("name", FEATURED)
def test_a_cpu_without_the_features_is_refused(tmp_path, name):
    arch = machine(name).arch.name
    files = adders(name)
    facts = json.loads(files["manifest.json"])
    assert facts["per_arch"][name]["needs"] == list(machine(name).needs)
    assert f"{name}: a CPU with {', '.join(machine(name).needs)}" in files["README.md"]
    exe = built(files, tmp_path / "package", name)
    less, more = CPUS[arch]
    assert emulated(less, arch, exe) == LACKS.format(name)
    assert emulated(more, arch, exe) == "10"


@pytest.mark.emulator
@pytest.mark.parametrize(("name", "form"), [("arm64+dotprod", "c"), ("x86+avx2", "bin")])
def test_the_best_machine_that_the_cpu_is_gets_chosen(tmp_path, name, form):
    arch = machine(name).arch.name
    exe = built(adders(arch, name, form=form), tmp_path / "package", name)
    less, more = CPUS[arch]
    assert emulated(less, arch, exe) == "10"
    assert emulated(more, arch, exe) == "2"
    assert emulated(more, arch, exe, "--machine", arch) == "10"
    assert emulated(less, arch, exe, "--machine", name) == LACKS.format(name)
    assert "no input or output has this name" in emulated(less, arch, exe, "--machine", "mips")


@pytest.mark.slow
def test_a_program_opens_the_machine_it_names(tmp_path):
    base, best = machine(host_arch()).arch.name, host_arch()
    if base == best:
        pytest.skip(f"this machine has none of the features of {base}")
    package = p.write(adders(base, best), tmp_path / "package")
    compile_and_run("test_machine.c", [package], tmp_path, best, base)


def test_kernels_of_machines_do_not_clash():
    files = adders("x86", "x86+avx2")
    rows = json.loads(files["manifest.json"])["per_arch"]
    assert rows["x86"]["kernels"] != rows["x86+avx2"]["kernels"]
    assert "src/kernels/t_add.c" in files
    text = files["src/kernels/x86_avx2/t_add.c"]
    assert "#if !(defined(__AVX2__) && defined(__FMA__))\n#error" in text
    assert (
        "src/kernels/x86_avx2/%.o: MACHINE := $(if $(call for,x86_64),-mavx2" in files["Makefile"]
    )
    assert "src/kernels/x86_avx2/*.c" in files["CMakeLists.txt"]


def test_kernels_without_the_features_are_shared():
    files = adders("arm64", "arm64+dotprod")
    rows = json.loads(files["manifest.json"])["per_arch"]
    assert rows["arm64"]["kernels"] == rows["arm64+dotprod"]["kernels"]
    assert [path for path in files if path.startswith("src/kernels/")] == ["src/kernels/t_add.c"]
    assert "MACHINE := " not in files["Makefile"]


@pytest.mark.slow
def test_a_kernel_that_names_a_feature_is_compiled_with_it(tmp_path):
    text = p.ADD.source.replace(
        "void t_add", "#ifndef __ARM_FEATURE_DOTPROD\n#error\n#endif\nvoid t_add"
    )
    kernel = Kernel("t_add", source=text, features=("dotprod",))
    files = adders("arm64+dotprod+fp16", kernel=kernel)
    assert "-march=armv8.2-a+dotprod)" in files["Makefile"]
    assert "src/kernels/arm64_dotprod/t_add.c" in files
    built(files, tmp_path / "package", "arm64+dotprod+fp16")


def test_equal_weights_of_machines_are_stored_once():
    same = {name: p.adder(name, p.W) for name in ("x86", "x86+avx2", "x86+avx512", "arm64")}
    files = emit.package(same, name="adder")
    found = {path.split(".")[0] for path in files if path.startswith("model/weights")}
    assert found == {"model/weights0"}


def test_many_machines_have_no_more_segments_than_an_image():
    """Five machines, and a weight for each set of them: by sets an image would have 16 segments."""
    names = ["arm64", "arm64+dotprod", "arm64+fp16", "x86", "x86+avx2"]
    sets = [c for k in range(1, 6) for c in combinations(names, k)]
    programs = {
        name: [replace(p.adder(name, p.W), weights=tuple(
            Weight("w", repr(c).encode()) for c in sets if name in c))]
        for name in names
    }  # fmt: skip
    layout = weight_segments.lay_out(programs)
    for name in names:
        assert len(layout.of(name)) <= weight_segments.MAX_SEGMENTS
        (placed,) = layout.local(name)
        for weight, (segment, at) in zip(programs[name][0].weights, placed, strict=True):
            data = bytes(layout.segments[layout.of(name)[segment]].data)
            assert data[at : at + len(weight.data)] == weight.data


def test_static_sizes_do_for_every_machine():
    programs = {"x86": p.planned("x86"), "x86+avx2": p.planned("x86+avx2")}
    small = emit.package(programs, name="corners")["include/corners.h"]
    assert small.count("#define CORNERS_ARENA_BYTES 256\n") == 1


def test_a_freestanding_build_takes_the_machine_that_needs_least(tmp_path):
    """It has neither a way to ask nor the code that would."""
    package = p.write(adders("x86", "x86+avx2"), tmp_path / "package")
    if machine(host_arch()).arch.name != "x86":
        pytest.skip("this machine is no x86")
    out = tmp_path / "model.o"
    command = ["gcc", "-std=c99", "-ffreestanding", "-Wall", "-Wextra", "-Werror"]
    command += ["-I", package / "include", "-I", package / "src", "-c", package / "model/model.c"]
    subprocess.run([*command, "-o", out], check=True)
    wanted = subprocess.run(["nm", "-u", out], capture_output=True, text=True, check=True).stdout
    assert "megcc_machine" not in wanted
    assert len(re.findall(r"\bt_add_\w+", wanted)) == 1
