"""Models in bf16: their weights take what the file's take, and their numbers are those of f32."""

from __future__ import annotations

import shutil
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
import tvm
from onnx import TensorProto, helper, numpy_helper, parser

from tests.fast import machines
from tvm_megcc import driver
from tvm_megcc.core.preference import Preference
from tvm_megcc.frontend import from_onnx
from tvm_megcc.host import package, toolchain
from tvm_megcc.passes import stages
from tvm_megcc.relax_tools import half
from tvm_megcc.relax_tools.work_attributes import work_of

RNG = np.random.default_rng(0)
BF16 = TensorProto.BFLOAT16


def weights(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


#: Name -> weights, in f32 and numbers of bf16 alike.
WEIGHTS = {
    name: array.astype(ml_dtypes.bfloat16).astype(np.float32)
    for name, array in {
        "w1": weights(32, 3, 3, 3), "w2": weights(32, 1, 3, 3), "w3": weights(96, 32, 1, 1),
        "w4": weights(32, 24, 3, 3), "w5": weights(32, 56), "table": weights(300, 24),
        "w6": weights(24, 70), "scale": RNG.uniform(0.5, 2, 32).astype(np.float32),
        "shift": weights(1, 32)[0], "mean": weights(1, 32)[0],
        "var": RNG.uniform(0.5, 2, 32).astype(np.float32),
    }.items()
}  # fmt: skip


def model(dtype: int = BF16) -> onnx.ModelProto:
    """Every kind of product: convolutions, depthwise, grouped, of rows, of one row, an embedding.

    The first convolution is followed by a batch normalisation, which goes into its weights.
    """
    make, value = helper.make_node, helper.make_tensor_value_info
    nodes = [
        make("Conv", ["x", "w1"], ["c1"], pads=[1, 1, 1, 1], strides=[2, 2]),
        make("BatchNormalization", ["c1", "scale", "shift", "mean", "var"], ["n"]),
        make("Relu", ["n"], ["r"]),
        make("Conv", ["r", "w2"], ["c2"], pads=[1, 1, 1, 1], group=32),
        make("Conv", ["c2", "w3"], ["c3"]),
        make("Conv", ["c3", "w4"], ["c4"], group=4),
        make("GlobalAveragePool", ["c4"], ["p"]),
        make("Flatten", ["p"], ["f"]),
        make("MatMul", ["f", "w5"], ["y"]),
        make("Gather", ["table", "ids"], ["e"]),
        make("MatMul", ["e", "w6"], ["z"]),
    ]
    np_dtype = helper.tensor_dtype_to_np_dtype(dtype)
    graph = helper.make_graph(
        nodes, "net",
        [value("x", dtype, [1, 3, 22, 22]), value("ids", TensorProto.INT64, [7])],
        [value("y", dtype, [1, 56]), value("z", dtype, [7, 70])],
        [numpy_helper.from_array(a.astype(np_dtype), n) for n, a in WEIGHTS.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


FEEDS = {
    "x": RNG.standard_normal((1, 3, 22, 22)).astype(ml_dtypes.bfloat16),
    "ids": RNG.integers(0, 300, 7),
}


def run(net: onnx.ModelProto, out: Path, arch: str) -> tuple[int, list[np.ndarray]]:
    """Bytes of the weights, and the outputs as f32."""
    driver.compile_model(net, out, archs=[arch])
    opened = package.load(out)
    (name,) = opened.archs
    feeds = {
        port.name: FEEDS[port.name].astype(np.float32) if port.dtype == "f32" else FEEDS[port.name]
        for port in opened.inputs
    }
    result = toolchain.run_package(toolchain.build(opened.path, name), name, feeds, opened.manifest)
    facts = next(iter(opened.manifest["per_arch"].values()))
    return facts["weight_bytes"], [a.astype(np.float32) for a in result.outputs.values()]


@pytest.fixture(scope="module")
def wide(tmp_path_factory) -> list[np.ndarray]:
    """The outputs of the same network in f32."""
    return run(model(TensorProto.FLOAT), tmp_path_factory.mktemp("wide") / "out", "host")[1]


@pytest.mark.slow
@pytest.mark.parametrize("arch", machines("host", "portable", "arm64", "armv7"))
def test_weights_stay_in_bf16(arch: str, wide, tmp_path: Path) -> None:
    tool = {"arm64": "qemu-aarch64", "armv7": "qemu-arm"}.get(arch)
    if tool and not shutil.which(tool):
        pytest.skip(f"needs {tool}: apt install qemu-user")
    weight_bytes, got = run(model(), tmp_path / "out", arch)
    in_file = sum(2 * array.size for array in WEIGHTS.values())
    assert weight_bytes <= 1.1 * in_file
    for ours, reference in zip(got, wide, strict=True):
        # Rounding of the folded batch normalisation, and of the output.
        np.testing.assert_allclose(ours, reference, atol=2**-8 * np.abs(reference).max())


def weight_bytes(precision: str) -> int:
    preference = Preference(precision=precision)
    (program,) = driver.compile_programs(model(), ["arm64"], preference=preference).values()
    return sum(len(weight.data) for weight in program.weights)


def test_precision_says_what_weights_become() -> None:
    narrow = weight_bytes("model")
    assert weight_bytes("fp32") > 1.9 * narrow and weight_bytes("mixed") < 1.1 * narrow


def test_what_a_model_has_in_f32_stays() -> None:
    """One product of weights in bf16, one of weights in f32 that are no numbers of bf16."""
    make, value = helper.make_node, helper.make_tensor_value_info
    full = RNG.standard_normal((40, 40)).astype(np.float32)
    narrow = full.astype(ml_dtypes.bfloat16)
    graph = helper.make_graph(
        [
            make("MatMul", ["x", "narrow"], ["a"]),
            make("Cast", ["a"], ["b"], to=TensorProto.FLOAT),
            make("MatMul", ["b", "full"], ["y"]),
        ],
        "mixed", [value("x", BF16, [2, 40])], [value("y", TensorProto.FLOAT, [2, 40])],
        [numpy_helper.from_array(narrow, "narrow"), numpy_helper.from_array(full, "full")],
    )  # fmt: skip
    net = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    assert half.said(from_onnx(net).mod, half.BF16).full >= {"b", "y", "full"}
    (program,) = driver.compile_programs(net, ["portable"]).values()
    kernels = sorted(k.template for k in program.kernels if "matmul" in k.template)
    assert kernels == ["matmul_f32_packed", "matmul_wbf16_packed"]


def test_weights_without_a_kernel_are_named() -> None:
    """Groups of two channels each: a kernel has them in f32 only."""
    text = "g (bfloat16[1, 6, 5, 5] x) => (bfloat16[1, 4, 3, 3] y) { y = Conv <group=2> (x, w) }"
    graph = parser.parse_graph(text)
    weights = WEIGHTS["w1"][:4].astype(ml_dtypes.bfloat16)
    graph.initializer.append(numpy_helper.from_array(weights, "w"))
    net = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    mod = tvm.transform.Sequential(list(stages("portable").values()))(from_onnx(net).mod)
    (said,) = work_of(mod).widened.values()
    assert said == "108 numbers of 4 bytes each, as no kernel of conv2d takes them in bf16"


def test_an_image_of_constants_is_no_weight() -> None:
    """What is convolved is known, and the weights are computed."""
    text = "g (bfloat16[4, 3, 3, 3] w) => (bfloat16[1, 4, 3, 3] y) { y = Conv (x, w) }"
    graph = parser.parse_graph(text)
    x = RNG.standard_normal((1, 3, 5, 5)).astype(ml_dtypes.bfloat16)
    graph.initializer.append(numpy_helper.from_array(x, "x"))
    net = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    mod = tvm.transform.Sequential(list(stages("portable").values()))(from_onnx(net).mod)
    assert list(work_of(mod).widened.values()) == [
        "75 numbers of 4 bytes each, as no kernel of conv2d takes them in bf16"
    ]
