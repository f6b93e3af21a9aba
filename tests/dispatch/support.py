"""Small functions with open dims, as Relax and as ONNX."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import tvm
from onnx import TensorProto, helper, numpy_helper
from tvm import relax, tirx

from tests.tvm_target import LLVM
from tvm_megcc.relax_tools.shape_exprs import with_bounds

RNG = np.random.default_rng(3)
WEIGHT = RNG.standard_normal((4, 5)).astype("float32")


def dense(
    dims: Sequence[str | int] = ("n", 4),
    bounds: Sequence = (),  # noqa: ANN001
) -> tvm.IRModule:
    """``main(x) = exp(x @ W)`` with these dims of `x`, the last of them 4."""
    variables = {d: tirx.Var(d, "int64") for d in dims if isinstance(d, str)}
    builder = relax.BlockBuilder()
    shape = [variables.get(d, d) for d in dims]
    x = relax.Var("x", relax.TensorType(shape, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            product = builder.emit(relax.op.matmul(x, relax.const(WEIGHT)))
            result = builder.emit_output(relax.op.exp(product))
        builder.emit_func_output(result)
    mod = builder.get()
    if bounds:
        mod.update_func(mod.get_global_var("main"), with_bounds(mod["main"], bounds))
    return mod


def expected(x: np.ndarray) -> np.ndarray:
    return np.exp(x @ WEIGHT)


def machine(mod: tvm.IRModule) -> relax.VirtualMachine:
    return relax.VirtualMachine(tvm.compile(mod, LLVM), tvm.cpu())


def call(vm: relax.VirtualMachine, *arrays: np.ndarray) -> np.ndarray:
    return vm["main"](*[tvm.runtime.tensor(a) for a in arrays]).numpy()


def two_inputs() -> onnx.ModelProto:
    """``y = Concat(Relu(a), b) along axis 1``: two inputs that share a batch, with open widths."""
    weight = numpy_helper.from_array(np.float32(2.0).reshape(1), "two")
    ports = [
        helper.make_tensor_value_info("a", TensorProto.FLOAT, ["batch", "wa", 3]),
        helper.make_tensor_value_info("b", TensorProto.FLOAT, ["batch", "wb", 3]),
    ]
    nodes = [
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("Mul", ["b", "two"], ["m"]),
        helper.make_node("Concat", ["r", "m"], ["y"], axis=1),
    ]
    out = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "two", ports, out, [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def scales() -> onnx.ModelProto:
    """``y = half + up(quarter)``, maps of two scales of ``x``: they fit for multiples of 4."""
    nodes = [
        helper.make_node(
            "MaxPool", [whole], [half], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1
        )
        for whole, half in (("x", "half"), ("half", "quarter"))
    ] + [
        helper.make_node("Resize", ["quarter", "", "twice"], ["up"], mode="nearest"),
        helper.make_node("Add", ["half", "up"], ["y"], name="sum"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, "h", "w"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    twice = numpy_helper.from_array(np.float32([1, 1, 2, 2]), "twice")
    graph = helper.make_graph(nodes, "scales", [x], [y], [twice])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def scales_expected(x: np.ndarray) -> np.ndarray:
    """Of sizes that are multiples of 4."""

    def pooled(a: np.ndarray) -> np.ndarray:
        return a.reshape(*a.shape[:2], a.shape[2] // 2, 2, a.shape[3] // 2, 2).max((3, 5))

    half = pooled(x)
    return half + pooled(half).repeat(2, axis=2).repeat(2, axis=3)


def two_expected(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.concatenate([np.maximum(a, 0), 2 * b], axis=1)


def windows() -> onnx.ModelProto:
    """Windows of 3 x 3 over ``x``, by weights that are known and by such that are given.

    They fit into images of 3 rows and more; of 2 there is an answer without elements.
    """
    ports = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, "h", 4]),
        helper.make_tensor_value_info("w", TensorProto.FLOAT, [5, 2, 3, 3]),
    ]
    known = numpy_helper.from_array(np.ones((5, 2, 3, 3), "float32"), "known")
    nodes = [
        helper.make_node("Conv", ["x", "known"], ["a"], name="by_known"),
        helper.make_node("Conv", ["x", "w"], ["b"], name="by_given"),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("GlobalMaxPool", ["x"], ["most"], name="most"),
        helper.make_node("ReduceSum", ["most"], ["sum"]),
        helper.make_node("Add", ["c", "sum"], ["y"]),
    ]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "windows", ports, [y], [known])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def windows_expected(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Of 2 rows or more."""
    rows, columns = x.shape[2] - 2, x.shape[3] - 2
    y = np.zeros((1, 5, rows, columns), "float32")
    for i in range(rows):
        for j in range(columns):
            y[0, :, i, j] = ((w + 1) * x[:, :, i : i + 3, j : j + 3]).sum((1, 2, 3))
    return y + x.max((2, 3)).sum()
