"""``--io-dtype``: packages with integer ports, given floats and integers, beside ONNX."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm_megcc import execute, relay
from tvm_megcc.errors import InputError
from tvm_megcc.options import CompileOptions

SCALES = {"x": 1 / 64, "y": 1 / 16}
ZEROS = {"x": 10, "y": -20}


def quantised(name: str = "quantised") -> onnx.ModelProto:
    """A product of 8 bits between QuantizeLinear and DequantizeLinear."""
    rng = np.random.default_rng(0)
    weights = {"w": rng.integers(-127, 128, (8, 5), np.int8), "sw": np.float32(1 / 128)}
    weights |= {f"s{k}": np.float32(v) for k, v in SCALES.items()}
    weights |= {f"z{k}": np.int8(v) for k, v in ZEROS.items()} | {"zw": np.int8(0)}
    n = helper.make_node
    nodes = [
        n("QuantizeLinear", ["x", "sx", "zx"], ["xq"]),
        n("DequantizeLinear", ["xq", "sx", "zx"], ["xr"]),
        n("DequantizeLinear", ["w", "sw", "zw"], ["wr"]),
        n("MatMul", ["xr", "wr"], ["v"]),
        n("QuantizeLinear", ["v", "sy", "zy"], ["yq"]),
        n("DequantizeLinear", ["yq", "sy", "zy"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 5])],
        [numpy_helper.from_array(np.asarray(a), k) for k, a in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture(scope="module")
def ported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``m.onnx``, ``in.npz`` of floats, and ``pkg`` with int8 ports; only to be read."""
    from tvm_megcc.cli import main

    folder = tmp_path_factory.mktemp("ports")
    onnx.save(quantised(), folder / "m.onnx")
    x = np.random.default_rng(1).uniform(-3, 3, (3, 8)).astype(np.float32)
    np.savez(folder / "in.npz", x=x)
    for name, options in (("pkg", ["--io-dtype", "int8"]), ("floats", [])):
        command = ["compile", folder / "m.onnx", "-o", folder / name, "--arch", "host", *options]
        assert main(list(map(str, command))) == 0
    return folder


def done(ran: object) -> str:
    """What a command has printed that ended well."""
    assert ran.status == 0, ran.err  # type: ignore[attr-defined]
    return str(ran.out)  # type: ignore[attr-defined]


def test_floats_and_integers_give_one_answer(tvmc, ported: Path, tmp_path: Path) -> None:
    x = np.load(ported / "in.npz")["x"]
    integers = np.clip(np.rint(x * 64) + 10, -128, 127).astype(np.int8)
    np.savez(tmp_path / "int.npz", x=integers)
    found = []
    for package, given in (
        (ported / "pkg", ported / "in.npz"),
        (ported / "pkg", tmp_path / "int.npz"),
        (ported / "floats", ported / "in.npz"),
    ):
        done(tvmc("run", package, "--inputs", given, "--outputs", tmp_path / "out.npz"))
        found.append(np.load(tmp_path / "out.npz")["y"])
    assert found[0].dtype == np.int8
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal((found[0].astype(np.float32) + 20) / 16, found[2])


def test_compare_with_the_model_of_floats(tvmc, ported: Path) -> None:
    done(tvmc("compare", ported / "m.onnx", ported / "pkg", "--inputs", ported / "in.npz"))
    done(
        tvmc(
            "compare",
            ported / "m.onnx",
            ported / "pkg",
            "--inputs",
            ported / "in.npz",
            "--per-layer",
        )
    )


def test_what_the_integers_stand_for(tvmc, ported: Path) -> None:
    header = (ported / "pkg" / "include" / "m.h").read_text()
    assert "#define M_X_SCALE 0.015625f\n#define M_X_ZERO_POINT 10\n" in header
    assert "#define M_Y_SCALE 0.0625f\n#define M_Y_ZERO_POINT (-20)\n" in header
    manifest = json.loads((ported / "pkg" / "manifest.json").read_text())
    for port in (*manifest["inputs"], *manifest["outputs"]):
        assert port["dtype"] == "i8"
        assert (port["scale"], port["zero_point"]) == (SCALES[port["name"]], ZEROS[port["name"]])
    assert "SCALE" not in (ported / "floats" / "include" / "m.h").read_text()
    said = done(tvmc("inspect", ported / "pkg"))
    assert "x: i8['n', 8], scale 0.015625, zero point 10" in said


def test_listed_shapes_and_buckets(tvmc, ported: Path, tmp_path: Path) -> None:
    """Each has a program of its own, with the same ports."""
    for options in (
        ["--input-shapes", "x:[1,8]", "--input-shapes", "x:[3,8]"],
        ["--dispatch", "x:0=log(1,8)"],
        ["--input-shapes", "x:[3*k,8]"],
    ):
        package = tmp_path / f"pkg{len(list(tmp_path.iterdir()))}"
        done(tvmc("compile", ported / "m.onnx", "-o", package, "--io-dtype", "int8", *options))
        done(tvmc("compare", ported / "m.onnx", package, "--inputs", ported / "in.npz"))


def test_relay_build(ported: Path, tmp_path: Path) -> None:
    mod, params = relay.frontend.from_onnx(quantised())
    library = relay.build(mod, "tvm_megcc", params=params, io_dtype="int8")
    library.save(tmp_path / "pkg")
    x = np.load(ported / "in.npz")["x"]
    integers = np.clip(np.rint(x * 64) + 10, -128, 127).astype(np.int8)
    with execute.opened(tmp_path / "pkg") as runnable, execute.opened(ported / "pkg") as other:
        np.testing.assert_array_equal(
            runnable.run({"x": integers}).outputs["y"], other.run({"x": integers}).outputs["y"]
        )


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(InputError, match="io_dtype 'int4' is not known; choose from int8, uint8"):
        CompileOptions(io_dtype="int4").check()
