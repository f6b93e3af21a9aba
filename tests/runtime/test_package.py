"""Emitted packages build without a warning everywhere and compute the right values."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import numpy as np
import pytest

from tvm_megcc.codegen_c import emit
from tvm_megcc.core.dtypes import DTYPES, nbytes, numpy_dtype
from tvm_megcc.core.program import Location, Port, Program, Tensor
from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import toolchain

from . import programs as p

STRICT = ["-Wall", "-Wextra", "-Werror"]
TARGETS = ["host", "arm64", "armv7"]


def resolve(target: str) -> str:
    return toolchain.host_arch() if target == "host" else target


def need(arch: str) -> None:
    try:
        toolchain.find_compiler(arch)
        toolchain._launcher(arch)
    except ToolError as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("weights", ["incbin", "c", "bin"])
def test_package_runs(tmp_path, target, weights):
    arch = resolve(target)
    need(arch)
    package = p.write_corners(tmp_path / "a folder", arch, weights=weights)
    # -pedantic minds literals longer than the 4095 characters that C99 promises to take.
    strict = [*STRICT, "-pedantic", "-Wno-overlength-strings"]
    exe = toolchain.build(package, arch, build_dir=tmp_path / "out dir", extra_cflags=strict)
    inputs = p.corners_inputs()
    result = toolchain.run_package(exe, arch, inputs, p.manifest(package), repeat=3, warmup=1)
    p.check_corners(inputs, result.outputs)
    assert len(result.times_ms) == 3


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["c", "bin"])
def test_package_is_clean_under_sanitizers(tmp_path, weights):
    arch = toolchain.host_arch()
    package = p.write_corners(tmp_path / "pkg", arch, weights=weights)
    exe = toolchain.build(package, arch, build_dir=tmp_path / "out", sanitize=True)
    inputs = p.corners_inputs()
    result = toolchain.run_package(
        exe, arch, inputs, p.manifest(package), repeat=2, args=["--profile"]
    )
    p.check_corners(inputs, result.outputs)
    assert "x + w" in result.stdout and "t_split" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["-flto", "-DMEGCC_NO_INCBIN", "-ffile-prefix-map=model=/"])
def test_package_takes_weights_in(tmp_path, flags):
    """With an optimising linker; a compiler that cannot, or looks elsewhere, gets them as C."""
    arch = toolchain.host_arch()
    package = p.write_corners(tmp_path / "pkg", arch)
    exe = toolchain.build(package, arch, build_dir=tmp_path / "out", extra_cflags=["-O1", flags])
    inputs = p.corners_inputs()
    p.check_corners(inputs, toolchain.run_package(exe, arch, inputs, p.manifest(package)).outputs)
    as_c = (tmp_path / "out" / "obj" / "model" / "weights0.inc").exists()
    assert as_c == (flags != "-flto")


@pytest.mark.slow
def test_package_weights_are_found_from_any_directory_and_looked_at_again(tmp_path):
    """The object has the bytes of the file beside the source, whatever the working directory."""
    package = p.write_corners(tmp_path / "a folder", toolchain.host_arch())
    data = (package / "model" / "weights0.c.bin").read_bytes()
    compiler = toolchain.find_compiler(toolchain.host_arch())
    command = [compiler, "-std=c99", *STRICT, f"-I{package / 'src'}", "-c"]
    subprocess.run(
        [*command, package / "model" / "weights0.c", "-o", tmp_path / "w.o"], cwd="/", check=True
    )
    assert data in (tmp_path / "w.o").read_bytes()
    build = ["make", "-s", "-C", package, "libmodel.a"]
    for content in (data, bytes(reversed(data))):
        (package / "model" / "weights0.c.bin").write_bytes(content)
        stamp = os.stat(package / "Makefile").st_mtime + 10
        os.utime(package / "model" / "weights0.c.bin", (stamp, stamp))
        subprocess.run(build, check=True, capture_output=True)
        assert content in (package / "obj" / "model" / "weights0.o").read_bytes()


@pytest.mark.slow
def test_package_builds_with_clang(tmp_path):
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed")
    arch = toolchain.host_arch()
    package = p.write_corners(tmp_path / "pkg", arch)
    exe = toolchain.build(
        package, arch, build_dir=tmp_path / "out", cc="clang", extra_cflags=STRICT
    )
    inputs = p.corners_inputs()
    p.check_corners(inputs, toolchain.run_package(exe, arch, inputs, p.manifest(package)).outputs)


@pytest.mark.emulator
@pytest.mark.slow
def test_package_of_several_architectures_builds_for_each(tmp_path):
    package = p.write_corners(tmp_path / "pkg", "arm64", "armv7", "portable")
    inputs = p.corners_inputs()
    for arch in ("arm64", "armv7", "portable"):
        need(arch)
        exe = toolchain.build(package, arch, build_dir=tmp_path / arch, extra_cflags=STRICT)
        result = toolchain.run_package(exe, arch, inputs, p.manifest(package))
        p.check_corners(inputs, result.outputs)


def test_package_refuses_another_architecture(tmp_path):
    other = "arm64" if toolchain.host_arch() != "arm64" else "x86"
    package = p.write_corners(tmp_path / "pkg", other)
    with pytest.raises(ToolError, match="this package is for .*: build it with CC="):
        toolchain.build(package, "portable", build_dir=tmp_path / "out")


@pytest.mark.slow
def test_package_builds_in_place_with_plain_make(tmp_path):
    arch = toolchain.host_arch()
    package = p.write_corners(tmp_path / "pkg", arch, weights="bin")
    hooks = tmp_path / "hooks.h"
    hooks.write_text(
        "int puts(const char *);\n"
        '#define MEGCC_BENCH_BEGIN() puts("<begin>")\n#define MEGCC_BENCH_END() puts("<end>")\n'
    )
    before = sorted(f.relative_to(package) for f in package.rglob("*"))
    command = ["make", "-C", str(package), f"CPPFLAGS=-include {hooks}", "CFLAGS=-O1"]
    subprocess.run(command, check=True, capture_output=True)
    # From anywhere: the model is found beside the program.
    done = subprocess.run(
        [package / "run", "--repeat", "2"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.index("<begin>") < done.stdout.index("<end>") < done.stdout.index("output 0")
    library = (package / "libmodel.a").read_bytes()
    assert b"megcc_set_parallel" in library and b"megcc_pool_run" not in library
    subprocess.run([*command, "THREADS=1"], check=True, capture_output=True)
    assert b"megcc_pool_run" in (package / "libmodel.a").read_bytes()
    split = run(package / "run", "--threads", "2")
    assert split.returncode == 0 and split.stdout[: split.stdout.index("time:")] in done.stdout
    subprocess.run(["make", "-C", str(package), "clean"], check=True, capture_output=True)
    assert sorted(f.relative_to(package) for f in package.rglob("*")) == before


@pytest.mark.slow
def test_package_library_knows_nothing_of_the_runner(tmp_path):
    package = p.write_corners(tmp_path / "pkg", toolchain.host_arch())
    (package / "main.c").unlink()
    shutil.rmtree(package / "runner")
    command = ["make", "-C", str(package), "libmodel.a", "CFLAGS=-O1"]
    subprocess.run(command, check=True, capture_output=True)
    assert not (package / "obj" / "main.o").exists()


@pytest.mark.parametrize("name", ["model", "runner", "load", "times"])
def test_package_may_be_called_like_a_part_of_the_runner(tmp_path, name):
    arch = toolchain.host_arch()
    program = p.adder(arch, np.ones(4, np.float32), name=name)
    package = p.write(emit.package({arch: program}, name=name), tmp_path / "pkg")
    exe = toolchain.build(package, arch, build_dir=tmp_path / "out", extra_cflags=["-O1"])
    assert "output 0" in run(exe).stdout


@pytest.mark.emulator
@pytest.mark.slow
def test_package_is_built_again_for_another_compiler(tmp_path):
    need("arm64")
    package = p.write_corners(tmp_path / "pkg", toolchain.host_arch(), "arm64")
    for compiler in (toolchain.find_compiler(toolchain.host_arch()), "aarch64-linux-gnu-gcc"):
        command = ["make", "-C", package, "-j2", f"CC={compiler}", "CPPFLAGS=-DQUOTED='\"it''s\"'"]
        subprocess.run(command, check=True, capture_output=True)
        again = subprocess.run(command, check=True, capture_output=True, text=True)
        assert compiler not in again.stdout, "built twice"
    launcher = toolchain._launcher("arm64")
    done = subprocess.run([*launcher, package / "run"], capture_output=True, text=True)
    assert done.returncode == 0 and "output 0" in done.stdout


@pytest.mark.slow
def test_package_builds_with_cmake(tmp_path):
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    arch = toolchain.host_arch()
    package = p.write_corners(tmp_path / "pkg", arch)
    run = {"check": True, "capture_output": True}
    flags = " ".join(STRICT)
    subprocess.run(
        ["cmake", "-S", package, "-B", tmp_path / "b", f"-DCMAKE_C_FLAGS={flags}", "-DTHREADS=ON"],
        **run,
    )
    subprocess.run(["cmake", "--build", tmp_path / "b", "-j2"], **run)
    inputs = p.corners_inputs()
    result = toolchain.run_package(
        tmp_path / "b" / "run", arch, inputs, p.manifest(package), args=["--threads", "3"]
    )
    p.check_corners(inputs, result.outputs)


@pytest.mark.parametrize("weights", ["incbin", "c", "bin"])
def test_package_of_nothing_but_empty_tensors(tmp_path, weights):
    arch = toolchain.host_arch()
    program = p.adder(arch, np.zeros(0))
    package = p.write(emit.package({arch: program}, name="void", weights=weights), tmp_path / "pkg")
    exe = toolchain.build(package, arch, build_dir=tmp_path / "b", sanitize=True)
    result = toolchain.run_package(exe, arch, {"x": np.zeros(0, "f4")}, p.manifest(package))
    assert result.outputs["y"].shape == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [row.name for row in DTYPES])
def test_package_of_every_element_type(tmp_path, dtype):
    """An input passed through: bytes in are bytes out; the runner prints the values it sees."""
    arch = toolchain.host_arch()
    program = Program(
        "pass", arch, (Port("x", 0),), (Port("y", 0),),
        (Tensor("x", dtype, (3,), Location("input", 0)),), (), (), (), arena_bytes=0,
    )  # fmt: skip
    package = p.write(emit.package({arch: program}, name="pass"), tmp_path / "pkg")
    flags = ["-O0", *STRICT]
    exe = toolchain.build(package, arch, build_dir=tmp_path / "b", extra_cflags=flags)
    x = np.array([0, 0, 1] if dtype in ("bool", "i2") else [0, 1, 3]).astype(numpy_dtype(dtype))
    least_most = (0, 1) if dtype == "bool" else (0, 3)
    if dtype == "bf16":
        x, least_most = np.array([-0.5, 1, 1.5]).astype(numpy_dtype(dtype)), (-0.5, 1.5)
    if dtype == "f16":
        x, least_most = np.array([-(2.0**-20), 1, 65504], "f2"), (-(2.0**-20), 65504)
    result = toolchain.run_package(exe, arch, {"x": x}, p.manifest(package))
    assert result.outputs["y"].dtype == x.dtype
    np.testing.assert_array_equal(result.outputs["y"].astype("f4"), x.astype("f4"))
    assert p.manifest(package)["inputs"][0]["bytes"] == nbytes(dtype, 3)
    row = next(row for row in DTYPES if row.name == dtype)
    if not row.is_storage:  # of these the runner prints no numbers
        said = f"y' {dtype} [3] min {least_most[0]:g} max {least_most[1]:g} (at 2)"
        assert said in result.stdout
    random = toolchain.run_package(exe, arch, {}, p.manifest(package)).outputs["y"]
    assert (np.abs(random.astype("f8")) <= 1).all()


# ---- the runner's command line -----------------------------------------------------------------


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    """A package whose model is a file, its runner (with sanitizers) and a set of input files."""
    folder = tmp_path_factory.mktemp("runner")
    arch = toolchain.host_arch()
    package = p.write_corners(folder / "pkg", arch, weights="bin")
    exe = toolchain.build(package, arch, build_dir=folder / "out", sanitize=True)
    (folder / "in").mkdir()
    for k, value in enumerate(p.corners_inputs().values()):
        (folder / "in" / f"{k}.bin").write_bytes(value.tobytes())
    return exe


def run(exe, *args):
    return subprocess.run([str(exe), *map(str, args)], capture_output=True, text=True)


def test_runner_takes_inputs_by_name(runner, tmp_path):
    folder = runner.parent.parent / "in"
    names = list(p.corners_inputs())
    args = [a for k, n in enumerate(names) for a in ("--input", f"{n}={folder}/{k}.bin")]
    done = run(runner, *args, "--outputs", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    y = np.fromfile(tmp_path / "out" / "0.bin", "f4")
    np.testing.assert_allclose(y, p.corners_reference(p.corners_inputs())["y"], rtol=1e-6)
    lines = (tmp_path / "out" / "index.txt").read_text().splitlines()
    assert lines[0] == "0 f32 1 6 y" and lines[4] == "4 f32 2 2 3 x through"
    assert lines[9] == "9 f32 0 s"


def test_runner_random_inputs_follow_the_seed(runner):
    first, same, other = (run(runner, "--seed", s).stdout for s in (1, 1, 2))
    strip = lambda text: text[: text.index("time:")]  # noqa: E731
    assert strip(first) == strip(same) != strip(other)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--frobnicate"], "--frobnicate: unknown option"),
        (["--repeat"], "--repeat: needs a value"),
        (["--repeat", "0"], "--repeat: must be at least 1"),
        (["--repeat", "-1"], "--repeat: takes a number"),
        (["--warmup", "2x"], "--warmup: takes a number"),
        (["--threads", "0"], "--threads: must be from 1 to 255"),
        (
            ["--threads", "2"],
            "--threads: this program has no threads; build it with make THREADS=1",
        ),
        (["--input", "x=missing.bin"], "missing.bin: No such file"),
        (["--input", "x=/"], "/: not a regular file"),
        (["--input", "z=0.bin"], "z=0.bin: the model has no such input"),
        (["--input", "x"], "x: the model has no such input"),
        (["--input", "x=/etc/passwd"], "input 'x' takes 24 bytes, the file has"),
        (["--inputs", "nowhere"], "nowhere: No such file"),
        (["--outputs", "nowhere/deep"], "nowhere/deep: No such file"),
        (["--trace"], "--trace: needs a value"),
        (["--trace", "/dev/full"], "/dev/full: cannot be written; make room"),
        (["--trace", "nowhere/t.json"], "nowhere/t.json: No such file"),
        (["--model", "nowhere.bin"], "nowhere.bin: No such file"),
        (["--model", "/etc/passwd"], "/etc/passwd: this is not a model image"),
        (["--model", "/dev/null"], "/dev/null: not a regular file"),
    ],
)
def test_runner_bad_arguments(runner, tmp_path, args, message):
    done = subprocess.run([runner, *args], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"run: error: {message}") or message in done.stderr
    assert done.stderr.count("\n") == 1 and "Sanitizer" not in done.stderr


def test_runner_traces_every_call_of_every_run(runner, tmp_path):
    done = run(runner, "--repeat", 3, "--warmup", 2, "--trace", tmp_path / "t.json")
    assert done.returncode == 0 and "profile:" not in done.stdout, done.stderr
    trace = json.loads((tmp_path / "t.json").read_text())
    inputs = trace["otherData"]["inputs"]
    assert inputs == {n: list(v.shape) for n, v in p.corners_inputs().items()}
    rows = {c: [e for e in trace["traceEvents"] if e.get("cat") == c] for c in ("run", "call")}
    assert [e["args"]["run"] for e in rows["run"]] == [0, 1, 2]
    graph = p.manifest(runner.parent.parent / "pkg")["per_arch"][toolchain.host_arch()]["graph"]
    calls = [(call["name"], call["kernel"]) for call in graph["calls"]]
    assert [(e["name"], e["args"]["kernel"]) for e in rows["call"]] == 3 * calls
    for event in rows["call"]:
        around = rows["run"][event["args"]["run"]]
        assert around["ts"] <= event["ts"] and event["dur"] >= 0
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]
    # What is no file is written to, not replaced.
    done = run(runner, "--trace", "/dev/stdout")
    assert done.returncode == 0 and '"traceEvents":' in done.stdout


@pytest.mark.slow
def test_runner_counts_instructions_where_it_may(tmp_path):
    """A software counter, which virtual machines have, too, stands for the processor's."""
    arch = toolchain.host_arch()
    package = p.write_corners(tmp_path / "pkg", arch)
    (tmp_path / "software.h").write_text(
        "#define _DEFAULT_SOURCE\n#include <linux/perf_event.h>\n"
        "#define PERF_TYPE_HARDWARE PERF_TYPE_SOFTWARE\n"
        "#define PERF_COUNT_HW_INSTRUCTIONS PERF_COUNT_SW_TASK_CLOCK\n"
    )
    flags = ["-O1", "-include", str(tmp_path / "software.h")]
    exe = toolchain.build(package, arch, build_dir=tmp_path / "out", extra_cflags=flags)
    done = run(exe, "--profile", "--trace", tmp_path / "t.json")
    assert done.returncode == 0, done.stderr
    if "instructions are not counted: the system does not permit it" in done.stdout:
        pytest.skip("perf_event_open is forbidden here")
    assert "executed instructions" in done.stdout
    trace = json.loads((tmp_path / "t.json").read_text())
    assert trace["otherData"]["not_counted"] == ""
    counts = [e["args"]["instructions"] for e in trace["traceEvents"] if e.get("cat") == "call"]
    assert counts and all(count > 0 for count in counts)


@pytest.mark.parametrize("cut", [0, 3, 100, 200, -1, -64])
def test_runner_model_cut_short(runner, tmp_path, cut):
    data = next((runner.parent / "model").glob("*.bin")).read_bytes()
    (tmp_path / "cut.bin").write_bytes(data[:cut])
    done = run(runner, "--model", tmp_path / "cut.bin")
    assert (done.returncode, done.stderr) == (
        1, f"run: error: {tmp_path}/cut.bin: the model image ends too early\n",
    )  # fmt: skip


def test_runner_model_of_another_package(runner, tmp_path):
    arch = toolchain.host_arch()
    files = emit.package({arch: p.adder(arch, p.W)}, name="adder", weights="bin")
    (tmp_path / "other.bin").write_bytes(bytes(files[f"model/model_{arch}.bin"]))
    done = run(runner, "--model", tmp_path / "other.bin")
    assert done.returncode == 1 and "compiled for other kernels" in done.stderr


def test_runner_changed_weights(runner, tmp_path):
    data = bytearray(next((runner.parent / "model").glob("*.bin")).read_bytes())
    data[-100] ^= 1
    (tmp_path / "bad.bin").write_bytes(data)
    done = run(runner, "--model", tmp_path / "bad.bin")
    assert done.returncode == 1 and "weights: bytes of the model image have changed" in done.stderr


def test_run_package_checks_inputs(runner):
    arch, pkg = toolchain.host_arch(), runner.parent.parent / "pkg"
    for inputs, message in [
        ({"z": p.W}, "no input 'z'"),
        ({"x": p.W}, r"'x' has shape \[6\], the model takes \[2, 3\]"),
        ({"x": np.zeros((2, 3), "f8")}, "'x' is float64, the model takes f32"),
        ({"x": np.zeros((2, 3), "i4")}, "'x' is int32, the model takes f32"),
    ]:
        with pytest.raises(InputError, match=message):
            toolchain.run_package(runner, arch, inputs, p.manifest(pkg))


def test_big_endian_arrays_are_refused_not_misread(runner):
    arch, pkg = toolchain.host_arch(), runner.parent.parent / "pkg"
    with pytest.raises(InputError):
        toolchain.run_package(runner, arch, {"x": np.zeros((2, 3), ">f4")}, p.manifest(pkg))


def test_text_bytes_of_the_library(runner):
    arch = toolchain.host_arch()
    assert 500 < toolchain.text_bytes(runner.parent / "libmodel.a", arch)
    with pytest.raises(ToolError):
        toolchain.text_bytes(runner.parent / "nowhere", arch)
