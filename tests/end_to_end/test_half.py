"""Models in f16 and models that are made so, from the file to the numbers of a package."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.fast import machines
from tvm_megcc import driver, zoo
from tvm_megcc.core.preference import Preference
from tvm_megcc.errors import InputError
from tvm_megcc.host import package, toolchain

#: Machine -> largest error over the range of the output.
MACHINES = {"host": 2e-3, "portable": 2e-3, "armv7": 2e-3, "arm64": 2e-3, "arm64+fp16": 1e-2}


def run(model: onnx.ModelProto, folder: Path, arch: str, precision: str, x: np.ndarray):
    """The package's facts and its first output."""
    out = folder / f"{arch}_{precision}"
    driver.compile_model(model, out, archs=[arch], preference=Preference(precision=precision))
    opened = package.load(out)
    (name,) = opened.archs
    runner = toolchain.build(opened.path, name)
    result = toolchain.run_package(runner, name, {opened.inputs[0].name: x}, opened.manifest)
    return opened, next(iter(result.outputs.values()))


def needed(arch: str) -> None:
    for prefix, tool in (("arm64", "qemu-aarch64"), ("armv7", "qemu-arm")):
        if arch.startswith(prefix) and not shutil.which(tool):
            pytest.skip(f"needs {tool}: apt install qemu-user")


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """The model, an input, and its package and output in f32."""
    model = zoo.build("tiny_residual")
    x = np.random.default_rng(0).standard_normal((1, 3, 32, 32)).astype(np.float32)
    return model, x, *run(model, tmp_path_factory.mktemp("wide"), "host", "fp32", x)


@pytest.mark.slow
@pytest.mark.parametrize("arch", machines(*MACHINES))
def test_a_model_made_f16_gives_the_same_numbers(arch: str, wide, tmp_path: Path) -> None:
    needed(arch)
    model, x, full, want = wide
    half, got = run(model, tmp_path, arch, "fp16", x)
    assert got.dtype == np.float32  # as the model has it
    span = float(want.max() - want.min())
    assert float(np.abs(got - want).max()) <= MACHINES[arch] * span
    assert got.argmax() == want.argmax()
    small, large = (next(iter(p.manifest["per_arch"].values())) for p in (half, full))
    assert small["weight_bytes"] < 0.55 * large["weight_bytes"]  # they are padded
    assert small["arena_bytes"] < 0.55 * large["arena_bytes"]


@pytest.mark.slow
def test_mixed_takes_no_kernel_that_adds_in_f16(wide, tmp_path: Path) -> None:
    model, *_ = wide
    for precision, found in (("fp16", True), ("mixed", False)):
        (program,) = driver.compile_programs(
            model, ["arm64+fp16"], preference=Preference(precision=precision)
        ).values()
        kernels = {k.template for k in program.kernels}
        assert any(name.endswith("_fp16") for name in kernels) is found, kernels


def half_model() -> onnx.ModelProto:
    """Conv and Relu in f16, then a Softmax that the model has in f32."""
    w = np.random.default_rng(0).standard_normal((8, 3, 3, 3)).astype(np.float16)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Cast", ["r"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Softmax", ["f"], ["y"], axis=1),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "half",
        [value("x", TensorProto.FLOAT16, [1, 3, 6, 6])],
        [value("y", TensorProto.FLOAT, [1, 8, 6, 6])],
        [numpy_helper.from_array(w, "w")],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.slow
def test_a_model_in_f16_is_computed_as_it_says(tmp_path: Path) -> None:
    model = half_model()
    x = np.random.default_rng(1).standard_normal((1, 3, 6, 6)).astype(np.float16)
    _, want = run(model, tmp_path, "host", "fp32", x)
    _, got = run(model, tmp_path, "host", "model", x)
    np.testing.assert_allclose(got, want, atol=2e-3)
    (program,) = driver.compile_programs(model, ["portable"]).values()
    types = {t.name: t.dtype for t in program.tensors}
    assert types["r"] == "f16" and types["y"] == "f32", types


def test_a_precision_that_there_is_not_is_refused() -> None:
    with pytest.raises(InputError, match="precision 'bf16' is not known; choose from model, fp32"):
        Preference(precision="bf16")
