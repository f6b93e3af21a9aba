"""Cortex-M without an operating system: builds by the package's files, answers on boards."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.cortexm import board
from tvm_megcc import execute, quantisation, reference, zoo
from tvm_megcc.cli import main
from tvm_megcc.host import firmware

pytestmark = [
    pytest.mark.skipif(bool(board.missing()), reason=board.missing() or "all is there"),
    pytest.mark.slow,
    pytest.mark.emulator,
]


def network() -> onnx.ModelProto:
    """A first layer, a depthwise one, one of one tap and a product, all with tails."""
    rng = np.random.default_rng(0)
    shapes = {"w0": (10, 3, 3, 3), "w1": (10, 1, 3, 3), "w2": (15, 10, 1, 1), "w3": (375, 7)}
    weights = {
        name: (rng.standard_normal(shape) / np.prod(shape[1:]) ** 0.5).astype(np.float32)
        for name, shape in shapes.items()
    }
    weights["b3"] = rng.standard_normal(7).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["c0"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c0"], ["r0"]),
        helper.make_node("Conv", ["r0", "w1"], ["c1"], group=10, pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["c1", "w2"], ["c2"]),
        helper.make_node("Flatten", ["c2"], ["f"]),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 9, 9])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 7])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The network, quantised."""
    pytest.importorskip("onnxruntime", reason="needs the extra 'quantize'")
    folder = tmp_path_factory.mktemp("cortexm")
    onnx.save(network(), folder / "float.onnx")
    samples = np.random.default_rng(1).standard_normal((20, 3, 9, 9)).astype(np.float32)
    np.savez(folder / "samples.npz", x=samples)
    out = folder / "int8.onnx"
    quantisation.quantise(
        folder / "float.onnx", out, folder / "samples.npz", per_channel=True, activations="u8"
    )
    return out


def compiled(model: Path, folder: Path, *options: str) -> Path:
    package = folder / f"pkg{len(list(folder.iterdir()))}"
    assert main(["compile", str(model), "-o", str(package), "--quiet", *options]) == 0
    return package


@pytest.mark.parametrize(
    "cpu", ["cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m55", "cortex-m85"]
)
def test_a_quantised_model_answers_as_it_does_here(model: Path, cpu: str, tmp_path: Path) -> None:
    x = np.random.default_rng(2).standard_normal((1, 3, 9, 9)).astype(np.float32)
    with execute.opened(compiled(model, tmp_path)) as runnable:
        wanted = runnable.run({"x": x}).outputs["y"]
    package = compiled(model, tmp_path, "--mcpu", cpu)
    np.testing.assert_array_equal(board.run(package, cpu, {"x": x}).outputs["y"], wanted)


def test_integer_ports_need_no_soft_floats(model: Path, tmp_path: Path) -> None:
    """Of the whole package for a CPU without a unit for floats: they are calls of a library."""

    def called(*options: str) -> set[str]:
        package = compiled(model, tmp_path, "--mcpu", "cortex-m3", *options)
        board.make(package, f"CC={board.COMPILER} -mcpu=cortex-m3 -mthumb", "lib")
        names = ["arm-none-eabi-nm", "-u", package / "libmodel.a"]
        done = subprocess.run(names, capture_output=True, text=True, check=True)
        words = done.stdout.split()
        return {w for w in words if w.startswith("__aeabi_") and "f" in w.split("_")[-1]}

    assert called()
    assert not called("--io-dtype", "uint8")


@pytest.mark.parametrize("cpu", board.CPUS)
def test_floats_on_every_board(cpu: str, tmp_path: Path) -> None:
    """With units for floats of three kinds, and without one."""
    model = tmp_path / "tiny_cnn.onnx"
    model.write_bytes(zoo.build("tiny_cnn").SerializeToString())
    x = np.random.default_rng(2).standard_normal((1, 3, 32, 32)).astype(np.float32)
    _, wanted = reference.values(onnx.load(model), {"input": x}, ["output"])
    got = board.run(compiled(model, tmp_path, "--mcpu", cpu), cpu, {"input": x})
    np.testing.assert_allclose(got.outputs["output"], wanted["output"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.parametrize("flags", ["-O1 -fno-omit-frame-pointer", "-Os"])
def test_helium_floats_whatever_the_flags(flags: str, precision: str, tmp_path: Path) -> None:
    """Tiles in assembly leave a register for the frame; small code has fewer tiles."""
    model = tmp_path / "tiny_residual.onnx"
    model.write_bytes(zoo.build("tiny_residual").SerializeToString())
    port = onnx.load(model).graph.input[0]
    shape = [d.dim_value for d in port.type.tensor_type.shape.dim]
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    _, wanted = reference.values(onnx.load(model), {port.name: x}, ["output"])
    package = compiled(model, tmp_path, "--mcpu", "cortex-m55", "--precision", precision)
    firmware = board.firmware.Firmware(package, "cortex-m55", (*board.WARNINGS, *flags.split()))
    got = firmware.counted({port.name: x}).outputs["output"]
    limit = 1e-4 if precision == "fp32" else 2e-2
    np.testing.assert_allclose(got, wanted["output"], rtol=limit, atol=limit)


def addresses(program: Path) -> dict[str, int]:
    """The address of each symbol by name."""
    command = ["arm-none-eabi-nm", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = (line.split() for line in done.stdout.splitlines())
    return {name: int(address, 16) for address, _, name in rows}


@pytest.mark.parametrize("weights", ["incbin", "c"])
def test_kernels_arena_and_weights_in_memories_of_their_own(
    model: Path, weights: str, tmp_path: Path
) -> None:
    """The same answer, with hot functions, arena and weights where the linker script says."""
    package = compiled(model, tmp_path, "--mcpu", "cortex-m7", "--weights", weights)
    x = np.random.default_rng(2).standard_normal((1, 3, 9, 9)).astype(np.float32)
    usual = board.run(package, "cortex-m7", {"x": x})
    placed = board.run(package, "cortex-m7", {"x": x}, "PLACED=1")
    np.testing.assert_array_equal(placed.outputs["y"], usual.outputs["y"])
    found = addresses(package / firmware.PROGRAM)
    kernels = json.loads((package / "manifest.json").read_text())["kernels"]
    fast = range(found["fast_code_begin"], found["fast_code_end"])
    assert fast.start == 0x200000 and all(found[name] in fast for name in kernels)
    assert found["megcc_run"] < fast.start
    assert found["arena"] == 0x20200000 and found["int8_weights0"] == 0x60000000


@pytest.mark.parametrize(
    "flags", ["-O0", "-Og", "-O2 -fno-omit-frame-pointer", "-O2 -fPIC -fstack-protector-all", "-Os"]
)
@pytest.mark.parametrize(
    ("cpu", "word", "fpu"),
    [("cortex-m4", "dsp", ["-mfpu=fpv4-sp-d16"]), ("cortex-m55", "mve", [])],
)
def test_kernels_have_registers_enough(
    model: Path, flags: str, cpu: str, word: str, fpu: list[str], tmp_path: Path
) -> None:
    """Inner loops in assembly leave some to frames, and builds for debuggers have few."""
    package = compiled(model, tmp_path, "--mcpu", cpu)
    kernels = list((package / "src" / "kernels").rglob(f"*_{word}_*.c"))
    assert {"dwqconv2d", "qconv2d", "qmatmul"} <= {k.name.split("_")[1] for k in kernels}
    machine = [f"-mcpu={cpu}", *fpu, "-mfloat-abi=hard", "-mthumb"]
    command = [board.COMPILER, "-c", "-ffreestanding", *machine, *flags.split()]
    for kernel in kernels:
        what = [f"-I{package / 'src'}", kernel, "-o", tmp_path / "kernel.o"]
        done = subprocess.run([*command, *what], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr[:1000]


@pytest.mark.parametrize(
    "flags", ["-O0", "-O2 -fPIC -fstack-protector-all", "-Os -finstrument-functions"]
)
def test_compilers_add_nothing_to_a_function_in_assembly(
    model: Path, flags: str, tmp_path: Path
) -> None:
    package = compiled(model, tmp_path, "--mcpu", "cortex-m3")
    (kernel, *_) = (package / "src" / "kernels").rglob("megcc_qconv2d_panels*.c")
    item = tmp_path / "kernel.o"
    command = [board.COMPILER, "-c", "-ffreestanding", "-mcpu=cortex-m3", "-mthumb", *flags.split()]
    command += [f"-I{package / 'src'}", str(kernel), "-o", str(item)]
    subprocess.run(command, check=True, timeout=60)
    dump = ["arm-none-eabi-objdump", "-d", "--no-show-raw-insn", str(item)]
    text = subprocess.run(dump, capture_output=True, text=True, check=True).stdout
    first = text.partition("<megcc_qgemm_two>:\n")[2].splitlines()[0]
    assert first.split(None, 1)[1].startswith("stmdb\tsp!, {r4, r5"), first


def test_helium_answers_as_other_machines_do_whatever_the_flags(
    model: Path, tmp_path: Path
) -> None:
    """Loops in assembly beside a compiler that keeps all else in memory."""
    x = np.random.default_rng(2).standard_normal((1, 3, 9, 9)).astype(np.float32)
    with execute.opened(compiled(model, tmp_path)) as runnable:
        wanted = runnable.run({"x": x}).outputs["y"]
    package = compiled(model, tmp_path, "--arch", "cortexm+mve")
    flags = (*board.WARNINGS, "-O0", "-fno-omit-frame-pointer")
    answer = board.firmware.Firmware(package, "cortex-m55", flags).counted({"x": x})
    np.testing.assert_array_equal(answer.outputs["y"], wanted)


def architecture(item: Path) -> str:
    """The Arm architecture that an object is for."""
    done = subprocess.run(
        ["arm-none-eabi-readelf", "-A", item], capture_output=True, text=True, check=True
    )
    return next(line.split()[-1] for line in done.stdout.splitlines() if "Tag_CPU_arch:" in line)


def test_without_a_named_cpu_code_is_for_every_one_of_the_machine(
    model: Path, tmp_path: Path
) -> None:
    package = compiled(model, tmp_path, "--mcpu", "cortex-m33")
    (kernel,) = (package / "src" / "kernels" / "cortexm_dsp").glob("megcc_dwqconv2d_dsp*.c")
    sources = [kernel.relative_to(package), Path("src", "megcc_model.c")]
    items = [str(Path("obj", path).with_suffix(".o")) for path in sources]
    board.make(package, f"CC={board.COMPILER}", *items)
    assert [architecture(package / item) for item in items] == ["v7E-M", "v6-M"]


def test_a_named_cpu_is_taken_at_its_word(model: Path, tmp_path: Path) -> None:
    """Whatever the package is for: no flags of an architecture beside the user's."""
    package = compiled(model, tmp_path, "--arch", "armv7,cortexm+dsp,portable")
    for given in ("CC=arm-none-eabi-gcc -mcpu=cortex-m4", "CFLAGS=-O2 -mcpu=cortex-m7"):
        command = ["make", "-n", "CC=arm-none-eabi-gcc", given]
        done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=True)
        assert "-mcpu=cortex-m" in done.stdout and "libmodel.a" in done.stdout
        assert "-march" not in done.stdout and "-mfpu" not in done.stdout
        assert "main.c" not in done.stdout, "the runner needs an operating system"


@pytest.mark.skipif(not shutil.which("cmake"), reason="cmake not found: apt install cmake")
@pytest.mark.parametrize("flags", ["", "-mcpu=cortex-m4 -mthumb"])
def test_cmake_gives_the_same_flags(model: Path, tmp_path: Path, flags: str) -> None:
    package = compiled(model, tmp_path, "--mcpu", "cortex-m4")
    settings = {
        "CMAKE_SYSTEM_NAME": "Generic", "CMAKE_SYSTEM_PROCESSOR": "arm",
        "CMAKE_C_COMPILER": board.COMPILER, "CMAKE_TRY_COMPILE_TARGET_TYPE": "STATIC_LIBRARY",
        "CMAKE_C_FLAGS": f"-ffreestanding {flags}", "CMAKE_EXPORT_COMPILE_COMMANDS": "ON",
    }  # fmt: skip
    given = [f"-D{name}={value}" for name, value in settings.items()]
    command = ["cmake", "-S", package, "-B", tmp_path / "build", *given]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    rows = json.loads((tmp_path / "build" / "compile_commands.json").read_text())
    lines = {Path(row["file"]).name: row["command"] for row in rows}
    assert "main.c" not in lines, "the runner needs an operating system"
    (kernel,) = (line for name, line in lines.items() if name.startswith("megcc_dwqconv2d_dsp"))
    named = [word for word in kernel.split() if word.startswith(("-mcpu", "-march"))]
    assert named == (["-mcpu=cortex-m4"] if flags else ["-march=armv6-m", "-march=armv7e-m"])


def test_there_is_no_runner_for_it(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = compiled(model, tmp_path, "--mcpu", "cortex-m3")
    capsys.readouterr()
    assert main(["run", str(package)]) == 1
    said = capsys.readouterr().err
    assert (
        "cortexm has no operating system, so there is no runner for it; run the package's example"
        in said
    )
    assert "make -C examples/cortexm run CPU=cortex-m4" in said
    # The host's compiler is refused in one line, which names the machine and its compiler.
    done = subprocess.run(["make", "CC=gcc"], cwd=package, capture_output=True, text=True)
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert done.returncode != 0 and len(errors) == 1, errors
    assert "this package is for cortexm: build it with CC=arm-none-eabi-gcc" in errors[0]
