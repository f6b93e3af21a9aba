"""The C VM: its API, damaged images, several models and threads, what it links against."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tvm_megcc.codegen_c import emit
from tvm_megcc.core.machine import machine
from tvm_megcc.core.program import Kernel, Port
from tvm_megcc.host import toolchain

from . import programs as p

HERE = Path(__file__).parent
#: Both see at -O1 what they see at -O3, which takes four times as long to compile; with -g1 alone
#: packages share objects.
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1", "-O1"]
FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1"]
HOST = toolchain.host_arch()
#: With and without sanitizers, which are slow to build.
BUILDS = pytest.mark.parametrize(
    "flags",
    [
        pytest.param(SANITIZE, marks=pytest.mark.slow, id="sanitizers"),
        pytest.param(["-O0"], id="plain"),
    ],
)


def compile_and_run(
    test: str, packages: list[Path], out: Path, *args: str, flags=SANITIZE, threads=False
) -> str:
    """Compile a C test with the whole sources of `packages` (libmodel.a of each), and run it."""
    libraries = []
    for package in packages:
        exe = toolchain.build(
            package, HOST, build_dir=package / "build", extra_cflags=flags, threads=threads
        )
        libraries.append(exe.with_name("libmodel.a"))
    includes = [f"-I{pkg / d}" for pkg in packages for d in ("include", "src")]
    command = [toolchain.find_compiler(HOST), *FLAGS, *flags, *includes, HERE / test]
    command += [*libraries, "-lpthread", "-lm", "-o", out / "test"]
    subprocess.run(command, check=True)
    done = subprocess.run([out / "test", *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@BUILDS
def test_api(tmp_path, flags):
    package = p.write_corners(tmp_path / "corners", HOST)
    compile_and_run("test_api.c", [package], tmp_path, flags=flags)


@pytest.mark.slow
@pytest.mark.parametrize("pools", [1, 2])
def test_damaged_images(tmp_path, pools):
    program = p.corners(HOST) if pools == 1 else p.in_two_pools(p.planned(HOST))
    package = p.write_program(tmp_path / "corners", program)
    image = emit.package({HOST: program}, name="corners", weights="bin")
    (tmp_path / "model.bin").write_bytes(bytes(image[f"model/model_{HOST}.bin"]))
    printed = compile_and_run("test_fuzz.c", [package], tmp_path, str(tmp_path / "model.bin"))
    assert int(printed.split()[0]) > 100, "the forged images hardly ever open: a test of nothing"


def two_packages(tmp_path) -> list[Path]:
    """`first` adds 10; `second` subtracts 2 by a kernel of the same name and returns y twice."""
    minus = Kernel("t_add", source=p.ADD.source.replace("a[i] + b[i]", "a[i] - b[i]"))
    first = p.adder(HOST, np.full(4, 10), name="first")
    second = p.adder(HOST, np.full(4, 2), kernel=minus, name="second")
    second = replace(second, outputs=(*second.outputs, Port("again", second.outputs[0].tensor)))
    folders = []
    for name, program in (("first", first), ("second", second)):
        files = emit.package({HOST: program}, name=name)
        folders.append(p.write(files, tmp_path / name))
    return folders


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    "flags", [SANITIZE, ["-fsanitize=thread", "-g1", "-O1"]], ids=["address", "thread"]
)
def test_two_models_in_one_program(tmp_path, order, flags):
    folders = two_packages(tmp_path)
    copy = "src/megcc_op_copy.c"
    assert not (folders[0] / copy).exists() and (folders[1] / copy).exists()
    compile_and_run("test_two_models.c", folders[::order], tmp_path, flags=flags)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["host", "arm64", "armv7"])
def test_runtime_needs_no_library(tmp_path, arch):
    """Freestanding: nothing beyond what a compiler may emit by itself, and its own support code."""
    compiler = toolchain.find_compiler(HOST if arch == "host" else arch)
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    package = p.write_corners(tmp_path / "pkg", HOST if arch == "host" else arch)
    defined: set[str] = set()
    wanted: set[str] = set()
    for source in sorted((package / "src").rglob("*.c")):
        out = tmp_path / "object.o"
        command = [compiler, "-std=c99", "-O3", "-ffreestanding", "-pedantic", "-Werror", "-Wall"]
        command += ["-Wextra", "-I", package / "include", "-I", package / "src"]
        if source.parent.parent.name == "kernels":
            command += machine(HOST).flags
        subprocess.run([*command, "-c", source, "-o", out], check=True)
        listing = subprocess.run(["nm", out], capture_output=True, text=True, check=True).stdout
        for kind, name in re.findall(r"^\w* +(\w) (\S+)$", listing, re.M):
            (wanted if kind == "U" else defined).add(name)
    allowed = {"memcpy", "memmove", "memset", "memcmp"}
    support = {n for n in wanted if n.startswith("__aeabi_")}  # division on armv7: libgcc
    assert wanted - defined - support <= allowed
    assert not defined & allowed


def test_runtime_includes_only_freestanding_headers(tmp_path):
    package = p.write_corners(tmp_path / "pkg", HOST)
    for folder in ("src", "include", "model"):
        for file in (package / folder).rglob("*.[ch]"):
            text = file.read_text()
            if file.name == "megcc_machine.c":  # what asks the CPU is for hosted builds only
                text = text[: text.index("#if __STDC_HOSTED__")]
                assert file.read_text().rstrip().endswith("#endif")
            system = set(re.findall(r"#include <(.+?)>", text))
            assert system <= {"stdint.h", "stddef.h"}, file


def test_public_header_is_cplusplus(tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    package = p.write_corners(tmp_path / "pkg", HOST)
    source = tmp_path / "a.cpp"
    source.write_text('#include "corners.h"\nint f() { return corners_image.program.bytes > 0; }\n')
    flags = ["-std=c++98", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-long-long"]
    subprocess.run(["g++", *flags, "-I", package / "include", "-fsyntax-only", source], check=True)


@pytest.mark.slow
def test_program_is_small(tmp_path):
    """Not a limit to defend, but an accident (libc, tables) would show."""
    package = p.write_corners(tmp_path / "pkg", HOST)
    exe = toolchain.build(package, HOST, build_dir=tmp_path / "b", extra_cflags=["-Os"])
    assert toolchain.text_bytes(exe.with_name("libmodel.a"), HOST) < 16 * 1024


def test_every_status_has_its_sentence(tmp_path):
    header = (HERE.parents[1] / "runtime/include/megcc.h").read_text()
    names = re.findall(
        r"^  (MEGCC_\w+)", header.partition("enum megcc_status {")[2].partition("}")[0], re.M
    )
    rows = "".join(f'  printf("{name} %s\\n", megcc_status_string({name}));\n' for name in names)
    last = "  puts(megcc_status_string((megcc_status_t)99));\n"
    source = tmp_path / "a.c"
    source.write_text(
        f'#include "megcc.h"\n#include <stdio.h>\nint main(void) {{\n{rows}{last}}}\n'
    )
    root = HERE.parents[1] / "runtime"
    command = [
        "cc",
        f"-I{root / 'include'}",
        source,
        root / "src/megcc_status.c",
        "-o",
        tmp_path / "a",
    ]
    subprocess.run(command, check=True)
    *lines, unknown = subprocess.run(
        [tmp_path / "a"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    said = dict(line.split(" ", 1) for line in lines)
    assert len(set(said.values())) == len(names) > 20 and unknown == "unknown status"
    for name, words in (
        ("OK", "success"), ("ERR_NULL", "pointer is null"), ("ERR_CHECKSUM", "bytes of the model"),
        ("ERR_PLATFORM", "this machine cannot"), ("ERR_POOLS", "several memory pools"),
        ("ERR_NO_ALLOC", "no allocator was set"), ("ERR_MACHINE", "this CPU lacks"),
        ("ERR_OVERLAP", "overlaps other memory"),
    ):  # fmt: skip
        assert words in said[f"MEGCC_{name}"]


@pytest.mark.slow
def test_a_run_in_pieces(tmp_path):
    files = emit.package({HOST: p.corners(HOST)}, name="corners", stepping=True)
    compile_and_run("test_step.c", [p.write(files, tmp_path / "corners")], tmp_path)
    plain = emit.package({HOST: p.corners(HOST)}, name="corners")
    assert files.keys() - plain.keys() == {"include/megcc_step.h", "src/megcc_step.c"}
    assert not plain.keys() - files.keys() and all(files[path] == plain[path] for path in plain)


def test_a_byte_that_changed(tmp_path):
    package = p.write_program(tmp_path / "corners", p.corners(HOST))
    compile_and_run("test_verify.c", [package], tmp_path, flags=["-O0"])


def test_memory_that_overlaps(tmp_path):
    files = emit.package({HOST: p.corners(HOST)}, name="corners", stepping=True)
    compile_and_run("test_overlap.c", [p.write(files, tmp_path / "corners")], tmp_path)


@BUILDS
def test_two_pools(tmp_path, flags):
    package = p.write_program(tmp_path / "corners", p.in_two_pools(p.planned(HOST)))
    compile_and_run("test_pools.c", [package], tmp_path, flags=flags)


@pytest.mark.slow
def test_two_pools_in_a_tvm_library(tmp_path):
    import tvm

    from tvm_megcc import relay
    from tvm_megcc.host import shared_library

    files = emit.package({HOST: p.in_two_pools(p.planned(HOST))}, name="corners")
    shared_library.build(files, HOST, tmp_path / "corners.so")
    loaded = tvm.runtime.load_module(str(tmp_path / "corners.so"))
    module = relay.GraphModule(loaded["default"](tvm.cpu()))
    inputs = p.corners_inputs()
    for name, value in inputs.items():
        module.set_input(name, value)
    module.run()
    expected = p.corners_reference(inputs)
    for k, (name, value) in enumerate(expected.items()):
        got = module.get_output(k).numpy()
        np.testing.assert_allclose(got, value, rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.slow
def test_poison(tmp_path):
    package = p.write_program(tmp_path / "corners", p.planned(HOST))
    compile_and_run("test_poison.c", [package], tmp_path, flags=[*SANITIZE, "-DMEGCC_DEBUG"])
