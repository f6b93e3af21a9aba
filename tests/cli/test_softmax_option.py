"""``--softmax integer``: the softmax of 8-bit tensors without floats, beside the one with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm_megcc import execute, relay
from tvm_megcc.cli import main
from tvm_megcc.core.preference import Preference
from tvm_megcc.driver import compile_model
from tvm_megcc.errors import InputError
from tvm_megcc.relay import frontend

TYPES = {"i8": (TensorProto.INT8, np.int8), "u8": (TensorProto.UINT8, np.uint8)}


def model(
    shape: tuple[int, ...], axis: int, scale: float, out: float = 1 / 256, dtype: str = "i8"
) -> onnx.ModelProto:
    """Dequantise, softmax, quantise, between ports of 8 bits."""
    kind, numpy = TYPES[dtype]
    least = np.iinfo(numpy).min
    held = {"sx": np.float32(scale), "zx": numpy(3), "sy": np.float32(out), "zy": numpy(least)}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "sx", "zx"], ["real"]),
        helper.make_node("Softmax", ["real"], ["soft"], axis=axis),
        helper.make_node("QuantizeLinear", ["soft", "sy", "zy"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(name, kind, shape) for name in "xy"]
    weights = [numpy_helper.from_array(np.asarray(v), name) for name, v in held.items()]
    graph = helper.make_graph(nodes, "soft", ports[:1], ports[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def answer(made: onnx.ModelProto, x: np.ndarray, folder: Path, softmax: str) -> np.ndarray:
    package = folder / softmax
    compile_model(made, package, preference=Preference(softmax=softmax))
    with execute.opened(package) as runnable:
        return runnable.run({"x": x}).outputs["y"].astype(int)


@pytest.mark.parametrize(
    ("shape", "axis", "scale", "out", "dtype"),
    [
        ((3000, 12), 1, 0.1, 1 / 256, "i8"),
        ((500, 10), 1, 0.003, 1 / 256, "u8"),
        ((40, 1000), 1, 0.02, 1 / 4096, "i8"),
        ((1, 32768), 1, 0.005, 2.0**-19, "u8"),
        ((2, 32768), 1, 0.05, 1 / 65536, "i8"),
        ((4, 21, 33, 17), 1, 0.05, 1 / 255, "i8"),
    ],
)
def test_an_element_differs_by_one_step_at_most(
    shape: tuple[int, ...], axis: int, scale: float, out: float, dtype: str, tmp_path: Path
) -> None:
    ends = np.iinfo(TYPES[dtype][1])
    rng = np.random.default_rng(len(shape))
    x = rng.integers(ends.min, ends.max + 1, shape).astype(TYPES[dtype][1])
    made = model(shape, axis, scale, out, dtype)
    floats, integers = (answer(made, x, tmp_path, kind) for kind in ("float", "integer"))
    assert len(np.unique(floats)) > 3
    assert np.abs(floats - integers).max() <= 1


def kernels(package: Path) -> str:
    return json.dumps(json.loads((package / "manifest.json").read_text())["kernels"])


@pytest.mark.parametrize("arch", ["host", "arm64", "armv7", "portable", "cortexm+dsp"])
def test_every_machine_has_it(arch: str, tmp_path: Path) -> None:
    onnx.save(model((2, 12), 1, 0.1), tmp_path / "soft.onnx")
    options = [str(tmp_path / "soft.onnx"), "--arch", arch, "--quiet"]
    assert main(["compile", *options, "-o", str(tmp_path / "pkg"), "--softmax", "integer"]) == 0
    assert main(["compile", *options, "-o", str(tmp_path / "plain")]) == 0
    assert "qsoftmax_integer" in kernels(tmp_path / "pkg")
    assert "qsoftmax_integer" not in kernels(tmp_path / "plain")


def test_inspect_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compile_model(
        model((2, 12), 1, 0.1), tmp_path / "pkg", preference=Preference(softmax="integer")
    )
    assert main(["inspect", str(tmp_path / "pkg")]) == 0
    assert "--softmax integer" in capsys.readouterr().out


def test_the_option_of_build() -> None:
    mod, params = frontend.from_onnx(model((2, 12), 1, 0.1))
    library = relay.build(mod, "tvm_megcc", params=params, softmax="integer")
    assert any("qsoftmax_integer" in k.symbol for k in library.program.kernels)


def test_an_unknown_value_is_refused() -> None:
    with pytest.raises(InputError, match="softmax 'int8' is not known; choose from float, integer"):
        Preference(softmax="int8")


def test_steps_too_small_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(model((2, 12), 1, 0.1, 1e-7), tmp_path / "soft.onnx")
    options = [str(tmp_path / "soft.onnx"), "-o", str(tmp_path / "pkg"), "--softmax", "integer"]
    assert main(["compile", *options]) == 1
    said = capsys.readouterr().err
    assert "an output's scale is 1e-07, and 9.53674e-07 is the least; leave out --softmax" in said
