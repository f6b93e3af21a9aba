"""Bad input: exit status 1, one sentence, no traceback, and an earlier good output stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.cli import tiny
from tvm_megcc.errors import InputError, ToolError
from tvm_megcc.host import arrays, toolchain
from tvm_megcc.host.files import read_tree
from tvm_megcc.host.package import Port


def not_onnx(path: Path) -> None:
    path.write_text("this is no model\n" * 10)


def truncated(path: Path) -> None:
    data = tiny.model().SerializeToString()
    path.write_bytes(data[: len(data) // 2])


def missing_external_data(path: Path) -> None:
    proto = tiny.model()
    onnx.external_data_helper.convert_model_to_external_data(
        proto, location="weights.bin", size_threshold=0
    )
    onnx.save(proto, path)
    (path.parent / "weights.bin").unlink()


def no_opset(path: Path) -> None:
    proto = tiny.model()
    del proto.opset_import[:]
    path.write_bytes(proto.SerializeToString())


def unknown_operator(path: Path) -> None:
    proto = tiny.model()
    proto.graph.node[1].op_type = "Frobnicate"
    onnx.save(proto, path)


def unknown_domain(path: Path) -> None:
    proto = tiny.model()
    proto.graph.node[1].domain = "com.example"
    proto.opset_import.append(helper.make_opsetid("com.example", 1))
    onnx.save(proto, path)


def string_input(path: Path) -> None:
    proto = tiny.model()
    proto.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    onnx.save(proto, path)


def sequence_input(path: Path) -> None:
    proto = tiny.model()
    proto.graph.input[0].CopyFrom(
        helper.make_tensor_sequence_value_info("x:0", TensorProto.FLOAT, None)
    )
    onnx.save(proto, path)


def weight_without_data(path: Path) -> None:
    proto = tiny.model()
    proto.graph.initializer[0].dims[0] = 1 << 38
    path.write_bytes(proto.SerializeToString())


def unknown_type(path: Path) -> None:
    proto = tiny.model()
    proto.graph.initializer[0].data_type = 77
    path.write_bytes(proto.SerializeToString())


def _with_node(path: Path, op: str, value: np.ndarray, **attrs: object) -> None:
    """The model with its first result read by one more node, whose result is an output."""
    proto = tiny.model()
    proto.graph.initializer.append(onnx.numpy_helper.from_array(value, "bad"))
    source = proto.graph.output[0].name
    proto.graph.node.append(helper.make_node(op, [source, "bad"], ["worse"], "odd\nname", **attrs))
    proto.graph.output.append(helper.make_tensor_value_info("worse", TensorProto.FLOAT, None))
    path.write_bytes(proto.SerializeToString())


def terabytes(path: Path) -> None:
    _with_node(path, "Expand", np.array([1 << 37, 1, 1], np.int64))


def axis_outside(path: Path) -> None:
    _with_node(path, "Gather", np.array([0], np.int64), axis=9)


MODELS = {
    weight_without_data: "too small",
    unknown_type: "77",
    terabytes: "elements at most",
    axis_outside: "odd name",
    not_onnx: "not an ONNX model",
    truncated: "",
    missing_external_data: "weights.bin",
    no_opset: "opset",
    unknown_operator: "Frobnicate",
    unknown_domain: "com.example",
    string_input: "x:0",
    sequence_input: "x:0",
}


@pytest.mark.parametrize("spoil", MODELS, ids=lambda f: f.__name__)
def test_bad_model_is_one_sentence(
    tvmc, package: Path, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    path = tmp_path / "bad.onnx"
    spoil(path)
    good = tmp_path / "pkg"
    read = read_tree(package)
    for name, data in read.items():
        (good / name).parent.mkdir(parents=True, exist_ok=True)
        (good / name).write_bytes(data)
    assert MODELS[spoil] in tvmc("compile", path, "-o", good).sentence()
    assert read_tree(good) == read
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.onnx", "pkg"]


def test_unsorted_graph_compiles(tvmc, tmp_path: Path) -> None:
    proto = tiny.model()
    nodes = list(proto.graph.node)
    del proto.graph.node[:]
    proto.graph.node.extend(reversed(nodes))
    (tmp_path / "unsorted.onnx").write_bytes(proto.SerializeToString())
    ran = tvmc("compile", tmp_path / "unsorted.onnx", "-o", tmp_path / "pkg")
    assert ran.status == 0 or "tiny" in ran.sentence()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--arch", "mips"], ["mips", "host", "portable", "arm64", "armv7", "x86"]),
        (["--arch", ","], ["architecture"]),
        (["--arch", "cortex-m4"], ["CPU or board", "--mcpu cortex-m4"]),
        (["--mcpu", "stm32f999x-nothing"], ["stm32f999x-nothing", "stm32f"]),
        (["--target", "cuda"], ["cuda", "no CPU"]),
        (["--target", "llvm -mtriple=aarch64-linux-gnu -O3"], ["-O3", "-mcpu"]),
        (["--target", '{"tag": "tvm_megcc"'], ["JSON"]),
        (["--target", "llvm", "--arch", "arm64"], ["leave out --arch"]),
        (["--cc", "gcc"], ["make CC=gcc"]),
        (["-f", "tar"], ["must end in .tar"]),
        (["--input-shapes", "x:0:[2"], ["--input-shapes"]),
        (["--input-shapes", "x:0:[2,three!]"], ["three!", "x:0"]),
        (["--input-shapes", "x:0:[2,3] x:0:[2,3]"], ["twice"]),
        (["--input-shapes", "nope:[1]"], ["nope", "x:0"]),
        (["--input-shapes", "x:0:[2,3,4]"], ["x:0"]),
        (["--input-shapes", "x:0:[2,4]"], ["x:0", "4"]),
        (["-f", "elf"], ["elf", "mlf"]),
        (["-f", "so"], ["must end in .so"]),
        (["-f", "mlf"], ["must end in .tar"]),
    ],
)
def test_bad_option_is_one_sentence(
    tvmc, model: Path, tmp_path: Path, args: list[str], words: list[str]
) -> None:
    sentence = tvmc("compile", model, "-o", tmp_path / "pkg", *args).sentence()
    assert all(word in sentence for word in words), sentence
    assert not list(tmp_path.iterdir())


def test_missing_model(tvmc, tmp_path: Path) -> None:
    missing = tmp_path / "no.onnx"
    assert "no.onnx" in tvmc("compile", missing, "-o", tmp_path / "pkg").sentence()
    assert str(tmp_path) in tvmc("compile", tmp_path, "-o", tmp_path / "pkg").sentence()


def test_bad_place_is_one_sentence(tvmc, model: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    assert "mine" in tvmc("compile", model, "-o", tmp_path / "mine").sentence()
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"
    assert "no such directory" in tvmc("compile", model, "-o", tmp_path / "a" / "b").sentence()
    (tmp_path / "d.tar").mkdir()
    assert "is a directory" in tvmc("compile", model, "-o", tmp_path / "d.tar").sentence()
    (tmp_path / "file").write_text("precious")
    assert "is a file" in tvmc("compile", model, "-o", tmp_path / "file").sentence()
    assert (tmp_path / "file").read_text() == "precious"


def test_several_archs_in_a_library(tvmc, model: Path, tmp_path: Path) -> None:
    ran = tvmc("compile", model, "-o", tmp_path / "m.so", "--arch", "arm64,armv7")
    assert "one architecture" in ran.sentence()


def test_missing_compiler(tvmc, model: Path, package: Path, tmp_path: Path, monkeypatch) -> None:
    from tvm_megcc import driver

    driver.compile_model(model, tmp_path / "arm", archs=["arm64"])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert "compiler" in tvmc("run", package).sentence()
    assert "aarch64-linux-gnu-gcc" in tvmc("run", tmp_path / "arm", "--arch", "arm64").sentence()
    assert "compiler" in tvmc("compile", model, "-o", tmp_path / "m.so").sentence()
    assert not (tmp_path / "m.so").exists()


X = np.ones((2, 3), np.float32)

INPUTS = {
    "missing": ({}, "'x:0'"),
    "extra": ({"x:0": X, "z": X}, "'z'"),
    "shape": ({"x:0": X[:1]}, "[1, 3]"),
    "rank": ({"x:0": X.reshape(-1)}, "[6]"),
    "dtype": ({"x:0": X.astype(np.float64)}, "float64"),
    "object": ({"x:0": np.array([None])}, "plain arrays"),
}


@pytest.mark.parametrize("case", INPUTS)
def test_bad_arrays_are_one_sentence(
    tvmc, package: Path, library: Path, tmp_path: Path, case: str
) -> None:
    arrays, words = INPUTS[case]
    np.savez(tmp_path / "in.npz", **arrays)
    out = tmp_path / "out.npz"
    out.write_bytes(b"earlier")
    for path in (package, library):
        ran = tvmc("run", path, "--inputs", tmp_path / "in.npz", "--outputs", out)
        assert words in ran.sentence()
        assert out.read_bytes() == b"earlier"


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((1, 4, 5, 3), "the array is channels last: transpose it with transpose(0, 3, 1, 2)"),
        ((3, 4, 5), "the array has no batch axis: add one with array[None]"),
        ((4, 5, 3), "reshape the array"),
        ((1, 3, 4, 6), "change the array"),
    ],
)
def test_an_image_of_another_layout_is_named(shape: tuple[int, ...], words: str) -> None:
    port = Port("x", "f32", (1, 3, 4, 5))
    with pytest.raises(InputError) as refused:
        arrays.check([port], {"x": np.zeros(shape, np.float32)}, "in.npz")
    assert words in str(refused.value)


def test_channels_first_for_channels_last_is_named() -> None:
    port = Port("x", "f32", ("n", "h", "w", 3))
    with pytest.raises(
        InputError, match=r"channels first: transpose it with transpose\(0, 2, 3, 1"
    ):
        arrays.check([port], {"x": np.zeros((1, 3, 4, 5), np.float32)}, "in.npz")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(100), "a JPEG image"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "a PNG image"),
        (b"\x80\x04\x95" + bytes(100), "a pickle of Python objects"),
        (b"plain words", "another kind of file"),
    ],
)
def test_a_file_that_is_no_npz_is_named(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(InputError) as refused:
        arrays.read_npz(tmp_path / "x.npz")
    said = str(refused.value)
    assert words in said and "allow_pickle" not in said and "numpy.savez" in said


def test_bad_npz_files(tvmc, package: Path, inputs: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.npz"
    assert "no such file" in tvmc("run", package, "--inputs", bad).sentence()
    bad.write_text("no zip")
    assert "bad.npz" in tvmc("run", package, "--inputs", bad).sentence()
    bad.write_bytes(inputs.read_bytes()[:100])
    assert "bad.npz" in tvmc("run", package, "--inputs", bad).sentence()
    np.save(tmp_path / "single.npy", X)
    assert "single array" in tvmc("run", package, "--inputs", tmp_path / "single.npy").sentence()
    assert "bad.npz" in tvmc("run", package, "--inputs", bad.parent / "bad.npz").sentence()


def test_bad_packages(tvmc, package: Path, library: Path, model: Path, tmp_path: Path) -> None:
    assert "no such file" in tvmc("run", tmp_path / "no").sentence()
    assert "no package" in tvmc("run", tmp_path).sentence()
    assert "no package" in tvmc("inspect", tmp_path).sentence()
    assert f"tvmc compile {model} -o tiny_pkg" in tvmc("run", model).sentence()
    assert "arm64" in tvmc("run", package, "--arch", "arm64").sentence()
    assert "mips" in tvmc("run", package, "--arch", "mips").sentence()
    assert "no such file" in tvmc("run", tmp_path / "no.so").sentence()
    whole = library.read_bytes()
    for size in (0, 10, 60, 1000, len(whole) // 2, len(whole) - 1):
        (tmp_path / "bad.so").write_bytes(whole[:size])
        assert "cut short" in tvmc("run", tmp_path / "bad.so").sentence()
    assert "profile" in tvmc("run", library, "--profile").sentence()
    tar = tmp_path / "p.tar"
    assert tvmc("compile", model, "-o", tar).status == 0
    tar.write_bytes(tar.read_bytes()[:5000])
    assert "p.tar" in tvmc("run", tar).sentence()


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["arm64", "armv7"])
def test_library_for_another_machine(tvmc, model: Path, tmp_path: Path, arch: str) -> None:
    try:
        toolchain.find_compiler(arch)
    except ToolError as error:
        pytest.skip(str(error))
    out = tmp_path / "m.so"
    assert tvmc("compile", model, "-o", out, "--arch", arch).status == 0
    if toolchain.is_native(arch):
        assert tvmc("run", out).status == 0
    else:
        assert f"is for {arch}" in tvmc("run", out).sentence()


@pytest.mark.parametrize("cut", [True, False])
def test_model_file_of_a_package_cut_or_changed(tvmc, model: Path, tmp_path: Path, cut: bool):
    package = tmp_path / "p"
    assert tvmc("compile", model, "-o", package, "--weights", "bin").status == 0
    (path,) = package.glob("model/*.bin")
    data = bytearray(path.read_bytes())
    if cut:
        del data[len(data) // 2 :]
    else:
        data[200] ^= 1
    path.write_bytes(data)
    assert tvmc("run", package).sentence()


def test_unexpected_error_is_one_sentence(tvmc, model: Path, tmp_path: Path, monkeypatch) -> None:
    from tvm_megcc import importers

    def broken(*args: object) -> None:
        raise ZeroDivisionError("boom\nboom")

    monkeypatch.setattr(importers, "import_model", broken)
    ran = tvmc("compile", model, "-o", tmp_path / "p")
    assert ran.status == 1 and len(ran.err.splitlines()) == 1
    assert "internal error: ZeroDivisionError: boom boom" in ran.err and "--verbose" in ran.err
    verbose = tvmc("compile", model, "-o", tmp_path / "p", "--verbose")
    assert verbose.status == 1 and "Traceback" in verbose.err


def test_verbose_shows_where_an_error_came_from(tvmc, tmp_path: Path) -> None:
    ran = tvmc("inspect", tmp_path / "no", "--verbose")
    assert ran.status == 1 and "Traceback" in ran.err and ran.err.splitlines()[-1][:5] == "tvmc:"


def test_manifest_of_somebody_else_is_no_package(tvmc, model: Path, tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "manifest.json").write_text(json.dumps({"name": "app", "icons": []}))
    assert "web" in tvmc("compile", model, "-o", tmp_path / "web").sentence()
    assert (tmp_path / "web" / "manifest.json").exists()
