"""An image that comes in by rows: the outputs of a whole image, to the bit, and what is refused."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from scripts.tiny_networks import NETWORKS
from tests.fast import machines
from tests.runtime.test_runtime import FLAGS, SANITIZE
from tvm_megcc import driver, execute
from tvm_megcc.core import dtypes
from tvm_megcc.core.this_machine import is_own_family
from tvm_megcc.errors import InputError, UnsupportedError
from tvm_megcc.host import firmware, package, toolchain
from tvm_megcc.memory_options import MemoryOptions

from .images import network, planar
from .running import built, outputs

HERE = Path(__file__).parent


def compiled(model: onnx.ModelProto, out: Path, arch: str, io: str) -> Path:
    driver.compile_model(model, out, archs=[arch], io=io, name="image")
    return out


def feeder(code: Path, out: Path, arch: str, flags: Sequence[str]) -> list[str]:
    """The command of feed.c with the package's library."""
    arch = toolchain.host_arch() if arch == "host" else arch
    is_own = is_own_family(arch)
    runner = built(code, arch, out / "build", flags)
    flags = [*(SANITIZE if is_own else ["-g1"]), *flags]
    names = {
        "HEADER": '"image.h"',
        "IMAGE": "image_image",
        "KERNELS": "image_kernels",
        "CONTEXT_BYTES": "IMAGE_CONTEXT_BYTES",
    }
    defines = [f"-D{key}={value}" for key, value in names.items()]
    command = [toolchain.find_compiler(arch), *FLAGS, *flags, *defines, f"-I{code / 'include'}"]
    command += ["-D_POSIX_C_SOURCE=200112L", str(HERE / "feed.c")]
    command += [str(runner.with_name("libmodel.a")), "-lm", "-o", str(out / "feed")]
    subprocess.run(command + ([] if is_own else ["-static"]), check=True)
    return [*toolchain._launcher(arch), str(out / "feed")]


def check(
    model: onnx.ModelProto, folder: Path, arch: str = "host", flags: Sequence[str] = ()
) -> None:
    """Compare rows one, two, all in place and a random number at a time with `--io caller`."""
    whole = compiled(model, folder / "whole", arch, "caller")
    (port,) = package.load(whole).inputs
    rng = np.random.default_rng(1)
    dtype = dtypes.numpy_dtype(port.dtype)
    if dtype.kind == "f":
        image = rng.standard_normal(port.shape).astype(dtype)
    else:
        image = rng.integers(-128, 128, port.shape).astype(dtype)
    (expected,) = outputs(whole, {port.name: image})
    fed = compiled(model, folder / "fed", arch, "stream")
    assert outputs(fed, {port.name: image}) == [expected]
    image.tofile(folder / "image.bin")
    command = feeder(fed, folder, arch, flags)
    for most in (1, 2, 0, -1):
        out = folder / "output.bin"
        args = [str(folder / "image.bin"), str(out), str(most)]
        done = subprocess.run([*command, *args], capture_output=True, text=True)
        assert done.returncode == 0, (most, done.stderr)
        assert out.read_bytes() == expected, most


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vww", "ic"])
def test_tiny_networks(name: str, tmp_path: Path) -> None:
    check(NETWORKS[name].build(), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("arch", machines("host", "portable"))
def test_random_images(seed: int, arch: str, tmp_path: Path) -> None:
    check(network(seed, channels_last=True), tmp_path, arch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 5, 8, 10])
def test_one_channel_first(seed: int, tmp_path: Path) -> None:
    """Images of one channel have their pixels in the same order either way."""
    check(network(seed), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 4])
def test_random_planes(seed: int, tmp_path: Path) -> None:
    """Images of several channels as their frameworks have them: plane by plane."""
    check(network(seed), tmp_path)
    assert "#define IMAGE_X_PLANES 1\n" not in (tmp_path / "fed/include/image.h").read_text()


@pytest.mark.parametrize(
    "first",
    ["bytes", pytest.param("quantised", marks=pytest.mark.slow)]
    + [pytest.param(k, marks=pytest.mark.slow) for k in ("two convolutions", "pooling", "sum")],
)
def test_planes(first: str, tmp_path: Path) -> None:
    """Whatever reads them: the line buffer has the planes of a row together."""
    check(planar(first), tmp_path)
    text = (tmp_path / "fed/include/image.h").read_text()
    for name, value in (("IMAGES", 1), ("PLANES", 3), ("ROWS", 21)):
        assert f"#define IMAGE_X_{name} {value}\n" in text
    element = 1 if first == "bytes" else 4
    assert f"#define IMAGE_X_ROW_BYTES {16 * element}\n" in text


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "images", "last"), [(3, 2, True), (5, 3, True), (4, 2, False)])
def test_a_batch(seed: int, images: int, last: bool, tmp_path: Path) -> None:
    """One image after the other, interleaved and planar."""
    check(network(seed, images, channels_last=last), tmp_path)
    text = (tmp_path / "fed/include/image.h").read_text()
    assert f"#define IMAGE_X_IMAGES {images}\n" in text


@pytest.mark.slow
def test_debug_builds_poison_no_row_that_is_read(tmp_path: Path) -> None:
    check(network(4, channels_last=True), tmp_path, flags=["-DMEGCC_DEBUG"])


@pytest.mark.slow
@pytest.mark.parametrize("arch", machines("arm64", "armv7"))
def test_random_images_on_arm(arch: str, tmp_path: Path) -> None:
    check(network(6, channels_last=True), tmp_path, arch)


def test_the_frame_is_no_part_of_the_arena(tmp_path: Path) -> None:
    out = compiled(NETWORKS["vww"].build(), tmp_path / "vww", "cortexm+dsp", "stream")
    (facts,) = package.load(out).manifest["per_arch"].values()
    assert facts["arena_bytes"] < 96 * 96 * 3
    names = {path.name for path in out.rglob("megcc_*")}
    assert {"megcc_rows.c", "megcc_rows.h", "megcc_step.c", "megcc_step.h"} <= names


def images(*nodes: onnx.NodeProto, shape: list[object]) -> onnx.ModelProto:
    ports = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
    ]
    graph = helper.make_graph(nodes, "image", ports[:1], ports[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


REFUSED = {
    "planes": (images(
        helper.make_node("Transpose", ["x"], ["y"], perm=[0, 3, 2, 1], name="turn"),
        shape=[1, 3, 16, 16],
    ), "Transpose 'turn' reads it otherwise than row by row"),
    "size": (images(
        helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], name="pool"),
        shape=[1, 1, "h", 16],
    ), "h is not; give --input-shapes"),
    "read twice": (images(
        helper.make_node("Transpose", ["x"], ["p"], perm=[0, 3, 1, 2]),
        helper.make_node("MaxPool", ["p"], ["a"], kernel_shape=[2, 2], name="pool"),
        helper.make_node("GlobalMaxPool", ["a"], ["b"], name="all"),
        helper.make_node("Mul", ["p", "b"], ["y"], name="late"),
        shape=[1, 16, 16, 4],
    ), "reads it after GlobalMaxPool 'all', which is not done row by row"),
    "no image": (images(helper.make_node("Softmax", ["x"], ["y"], name="soft"), shape=[1, 8]),
                 "Softmax 'soft' reads it otherwise"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str, tmp_path: Path) -> None:
    model, words = REFUSED[what]
    with pytest.raises(UnsupportedError, match="cannot come in by rows|comes in by rows") as error:
        compiled(model, tmp_path / "out", "portable", "stream")
    assert words in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_other_inputs_are_the_callers(tmp_path: Path) -> None:
    """The first input that can come in by rows does; here it is the second one."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["p"], perm=[0, 3, 1, 2]),
        helper.make_node("MaxPool", ["p"], ["a"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalMaxPool", ["a"], ["b"]),
        helper.make_node("Add", ["b", "shift"], ["y"]),
    ]
    model = images(*nodes, shape=[1, 16, 16, 4])
    shift = helper.make_tensor_value_info("shift", TensorProto.FLOAT, [1, 4, 1, 1])
    model.graph.input.insert(0, shift)
    rng = np.random.default_rng(3)
    feeds = {"shift": rng.random((1, 4, 1, 1)), "x": rng.random((1, 16, 16, 4))}
    feeds = {name: array.astype(np.float32) for name, array in feeds.items()}
    out = compiled(model, tmp_path / "out", "host", "stream")
    assert "#define IMAGE_X_ROWS 16\n" in (out / "include" / "image.h").read_text()
    with execute.opened(out) as runnable:
        (found,) = runnable.run(feeds).outputs.values()
    expected = feeds["x"].max((1, 2)).reshape(1, 4, 1, 1) + feeds["shift"]
    assert np.array_equal(found, expected)


def test_without_bands(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave out stream 'off'"):
        memory = MemoryOptions(stream="off")
        driver.compile_model(network(0), tmp_path / "out", io="stream", memory=memory)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "shape"),
    [(NETWORKS["vww"].build, (1, 96, 96, 3)), (partial(planar, "bytes"), (1, 3, 21, 16))],
    ids=["interleaved", "planar"],
)
def test_a_microcontroller(
    model: Callable[[], onnx.ModelProto], shape: tuple[int, ...], tmp_path: Path
) -> None:
    """The example of a package for a Cortex-M gives rows to the run, and has no memory for more."""
    if firmware.missing():
        pytest.skip(firmware.missing())
    outputs, memory = [], []
    for io in ("caller", "stream"):
        code = compiled(model(), tmp_path / io, "cortexm+dsp", io)
        (port,) = package.load(code).inputs
        image = np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)
        image = image.view(dtypes.numpy_dtype(port.dtype))
        answer = firmware.Firmware(code, "cortex-m4").counted({port.name: image})
        outputs.append(next(iter(answer.outputs.values())).tobytes())
        sizes = firmware.sections(code / firmware.PROGRAM)
        memory.append(sizes[".data"] + sizes[".bss"])
        print(io, answer.counts.totals, answer.stack_bytes, sizes)
    assert outputs[0] == outputs[1]
    assert memory[1] < memory[0] and (image.size < 9000 or memory[1] < image.size < memory[0])
