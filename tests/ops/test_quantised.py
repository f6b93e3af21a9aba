"""Integer operators against ONNX Runtime: exact, halves and saturation included."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, compose, helper

from tests.frontend.running import by_onnxruntime
from tests.ops.cases import Weight, check_node, rand
from tests.ops.packages import runner
from tvm_megcc.errors import MegccError
from tvm_megcc.frontend import from_onnx

HALVES = np.array([[-300, -2.5, -1.5, -0.5, 0.5], [1.5, 2.5, 127.5, 254.5, 400]], np.float32)


def scale(*values):
    return Weight(np.array(values[0] if len(values) == 1 else values, np.float32))


def point(value, dtype):
    return Weight(np.array(value, dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("zero", [0, 3])
def test_quantizelinear(dtype, zero):
    check_node("QuantizeLinear", [HALVES, scale(1.0), point(zero, dtype)], 13)


def test_quantizelinear_per_axis():
    scales = scale(0.5, 2.0)
    check_node("QuantizeLinear", [HALVES, scales, point([1, -1], "int8")], 13, axis=0)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_dequantizelinear(dtype):
    zero = point(0 if dtype == "int32" else 5, dtype)
    check_node("DequantizeLinear", [rand(2, 3, dtype=dtype), scale(0.1), zero], 13)


def test_dequantizelinear_per_axis():
    operands = [rand(2, 3, dtype="int8"), scale(0.1, 0.2, 0.3), point([1, 2, 3], "int8")]
    check_node("DequantizeLinear", operands, 13, axis=1)


@pytest.mark.parametrize("zero", [None, 7])
def test_convinteger(zero):
    operands = [rand(1, 2, 5, 5, dtype="uint8"), Weight(rand(3, 2, 3, 3, seed=1, dtype="int8"))]
    operands += [] if zero is None else [point(zero, "uint8"), point(-2, "int8")]
    check_node("ConvInteger", operands, 10, pads=[1, 1, 1, 1])


@pytest.mark.parametrize("per_channel", [False, True])
def test_qlinearconv(per_channel):
    scales = scale(0.02, 0.01, 0.03) if per_channel else scale(0.02)
    zeros = point([0, 0, 0], "int8") if per_channel else point(0, "int8")
    operands = [rand(1, 2, 6, 6, dtype="uint8"), scale(0.05), point(120, "uint8"),
                Weight(rand(3, 2, 3, 3, seed=1, dtype="int8")), scales, zeros,
                scale(0.7), point(100, "uint8"),
                Weight(rand(3, seed=2, dtype="int32"))]  # fmt: skip
    check_node("QLinearConv", operands, 10, strides=[2, 1], pads=[1, 0, 1, 1])


def test_matmulinteger():
    operands = [rand(2, 3, dtype="uint8"), rand(3, 4, seed=1, dtype="int8")]
    check_node("MatMulInteger", operands, 10)
    check_node("MatMulInteger", [*operands, point(5, "uint8"), point([1, 2, 3, 4], "int8")], 10)


def test_qlinearmatmul():
    operands = [rand(2, 3, dtype="uint8"), scale(0.05), point(3, "uint8"),
                Weight(rand(3, 4, seed=1, dtype="uint8")), scale(0.02), point(9, "uint8"),
                scale(0.1), point(7, "uint8")]  # fmt: skip
    check_node("QLinearMatMul", operands, 10)


@pytest.mark.parametrize("data", [rand(3, 4), abs(rand(3, 4)), -abs(rand(3, 4)), HALVES])
def test_dynamicquantizelinear(data):
    check_node("DynamicQuantizeLinear", [data], 11, outputs=3)


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_two_quantised(op):
    operands = [rand(3, 4, dtype="uint8"), scale(0.06), point(11, "uint8"),
                rand(3, 4, seed=1, dtype="uint8"), scale(0.03), point(5, "uint8"),
                scale(0.1), point(20, "uint8")]  # fmt: skip
    check_node(op, operands, 11, domain="com.microsoft")


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_ties_of_two_quantised(op):
    """ONNX Runtime rounds the sum of result and zero point: an odd one moves a tie."""
    single = [point(1, "uint8"), scale(0.5 if op == "QLinearAdd" else 1.0), point(0, "uint8")]
    operands = [np.arange(9, dtype="uint8"), scale(0.5), point(0, "uint8"), *single,
                scale(1.0), point(25, "uint8")]  # fmt: skip
    check_node(op, operands, 11, domain="com.microsoft")


@pytest.mark.parametrize(("op", "attrs"), [("QLinearLeakyRelu", dict(alpha=0.1)),
                                           ("QLinearSigmoid", {})])  # fmt: skip
def test_one_quantised(op, attrs):
    operands = [rand(3, 4, dtype="int8"), scale(0.06), point(-11, "int8"),
                scale(0.04), point(5, "int8")]  # fmt: skip
    check_node(op, operands, 11, domain="com.microsoft", **attrs)


@pytest.mark.parametrize(("scale", "zero"), [([1, 1], [1]), ([3], [1, 3]), ([2, 3], [2, 3])])
@pytest.mark.parametrize("op", ["QuantizeLinear", "DequantizeLinear"])
def test_steps_of_several_dims_are_blocks(op: str, scale: list[int], zero: list[int]) -> None:
    dtype = TensorProto.FLOAT if op == "QuantizeLinear" else TensorProto.INT8
    ports = [("x", dtype, [2, 3]), ("s", TensorProto.FLOAT, scale), ("z", TensorProto.INT8, zero)]
    graph = helper.make_graph(
        [helper.make_node(op, ["x", "s", "z"], ["y"], name="step")], "steps",
        [helper.make_tensor_value_info(*port) for port in ports],
        [onnx.ValueInfoProto(name="y")],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    with pytest.raises(MegccError, match=r"'step': its (scale|zero point) has 2 dims, and it has"):
        from_onnx(made)


@pytest.mark.parametrize("op", ["QuantizeLinear", "DequantizeLinear"])
def test_a_zero_point_of_another_type_is_refused(op: str) -> None:
    dtype, said = TensorProto.FLOAT, {"output_dtype": TensorProto.UINT8}
    words = "its zero point is int8"
    if op == "DequantizeLinear":
        dtype, said = TensorProto.UINT8, {}
        words = "its input 2 is int8 and its input 0 uint8"
    x = helper.make_tensor_value_info("x", dtype, [2])
    values = {"step": np.float32(0.5), "zero": np.int8(3)}
    weights = [onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in values.items()]
    node = helper.make_node(op, ["x", "step", "zero"], ["y"], name="node", **said)
    y = helper.make_empty_tensor_value_info("y")
    graph = helper.make_graph([node], "g", [x], [y], weights)
    opsets = [helper.make_opsetid("", 21)]
    with pytest.raises(MegccError, match=f"{op} 'node': {words}"):
        from_onnx(helper.make_model(graph, opset_imports=opsets, ir_version=10))


def _quantised_again(nodes: list, step: float, far: float) -> onnx.ModelProto:
    """Int8 data by `step`, through nodes from ``d`` to ``e``, and int8 again by `far`."""
    given = {"step": np.float32(step), "far": np.float32(far), "zero": np.int8(3)}
    weights = [onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in given.items()]
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "step", "zero"], ["d"]),
        *nodes,
        helper.make_node("QuantizeLinear", ["e", "far", "zero"], ["y"]),
    ]
    w = onnx.numpy_helper.from_array(np.ones((2, 2, 1, 1), np.float32), "w")
    i8 = TensorProto.INT8
    dims = ([1, 2, 2, 2], None)
    ports = [helper.make_tensor_value_info(n, i8, d) for n, d in zip("xy", dims, strict=True)]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], [*weights, w])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


_BETWEEN = {
    "nothing": [helper.make_node("Identity", ["d"], ["e"])],
    "a table": [helper.make_node("Relu", ["d"], ["e"])],
    "a sum": [helper.make_node("Add", ["d", "d"], ["e"])],
    "averages": [helper.make_node("GlobalAveragePool", ["d"], ["e"])],
    "softmax": [helper.make_node("Softmax", ["d"], ["e"])],
    "a convolution": [
        helper.make_node("QuantizeLinear", ["w", "far", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "step", "zero"], ["r"]),
        helper.make_node("Conv", ["d", "r"], ["e"]),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("far", [0.0, np.nan, np.inf, 1e37])
def test_scales_that_are_no_steps(far: float, tmp_path: Path) -> None:
    """Dividing by 0, by infinity or by NaN, and numbers that no f32 has: as in real numbers."""
    x = np.array([-128, -3, 0, 1, 3, 100, 127, 5], np.int8).reshape(1, 2, 2, 2)
    cases = []
    for nodes in _BETWEEN.values():
        for pair in ((0.5, far), (far, 0.5)):
            model = _quantised_again(nodes, *pair)
            cases.append(compose.add_prefix(model, f"c{len(cases)}_"))
    graph = onnx.GraphProto(name="g")
    for part in ("node", "input", "output", "initializer"):
        for case in cases:
            getattr(graph, part).extend(getattr(case.graph, part))
    joined = helper.make_model(graph, opset_imports=cases[0].opset_import, ir_version=9)
    feeds = {f"c{k}_x": x for k in range(len(cases))}
    found = runner(joined, tmp_path)(feeds)
    for name, want in zip(found, by_onnxruntime(joined, feeds), strict=True):
        np.testing.assert_array_equal(found[name], want, name)
