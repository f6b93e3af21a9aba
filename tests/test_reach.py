"""Every kernel, and every code of an operator of the library, is what some ONNX model comes to.

`scripts/kernel_coverage` says the same of the zoo, the corpus and ONNX's own cases; here it is
nodes that are made for it. What is not in the list is deleted, or gets its row in tvm_megcc/fuse.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
import tvm
from onnx import TensorProto, helper, numpy_helper
from tvm import relax

from tests import reach, reach_models
from tvm_megcc.core.machine import ARCHITECTURES
from tvm_megcc.core.preference import Preference

pytestmark = pytest.mark.slow

#: Machines with instructions for 8 and 16 bits, and those without.
MACHINES = (
    *ARCHITECTURES, "arm64+dotprod", "arm64+i8mm", "arm64+dotprod+i8mm", "arm64+fp16",
    "cortexm+dsp", "cortexm+mve.fp",
    "x86+avx2", "x86+avxvnni", "x86+avx512vnni",
)  # fmt: skip
IMAGE = [1, 8, 12, 12]
ROUNDING = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")


class Graph:
    """Nodes that each begin at an input of their own, so that no two become one kernel."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.weights: list[onnx.TensorProto] = []

    def x(self, shape: list[int] | None = None, dtype: int = TensorProto.FLOAT) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape or IMAGE))
        return name

    def w(self, value: object, dtype: str = "float32") -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def add(self, op: str, *inputs: str, **attrs: object) -> str:
        self.nodes.append(helper.make_node(op, inputs, [f"v{len(self.nodes)}"], **attrs))
        return f"v{len(self.nodes) - 1}"

    def conv(self, oc: int = 8, k: int = 3, group: int = 1, x: str = "", **attrs: object) -> str:
        weight = self.w(np.full((oc, 8 // group, k, k), 0.1))
        attrs = {"pads": [k // 2] * 4, **attrs}
        return self.add("Conv", x or self.x(), weight, group=group, **attrs)

    def model(self) -> onnx.ModelProto:
        read = {name for node in self.nodes for name in node.input}
        ends = [v for node in self.nodes for v in node.output if v not in read]
        outputs = [onnx.ValueInfoProto(name=name) for name in ends]
        graph = helper.make_graph(self.nodes, "reach", self.inputs, outputs, self.weights)
        opsets = [helper.make_opsetid("", 20)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        return onnx.shape_inference.infer_shapes(model)


def activations(g: Graph) -> dict[str, Callable[[str], str]]:
    """Each activation over a value, by its name."""
    zero, six = g.w(0.0), g.w(6.0)
    return {
        "Relu": lambda v: g.add("Relu", v),
        "Clip": lambda v: g.add("Clip", v, zero, six),
        "Sigmoid": lambda v: g.add("Sigmoid", v),
        "Tanh": lambda v: g.add("Tanh", v),
        "Silu": lambda v: g.add("Mul", v, g.add("Sigmoid", v)),
        "HardSigmoid": lambda v: g.add("HardSigmoid", v),
        "HardSwish": lambda v: g.add("HardSwish", v),
        "LeakyRelu": lambda v: g.add("LeakyRelu", v, alpha=0.1),
        "Gelu": lambda v: g.add("Gelu", v),
        "GeluTanh": lambda v: g.add("Gelu", v, approximate="tanh"),
        "Elu": lambda v: g.add("Elu", v, alpha=0.5),
    }


def everything() -> onnx.ModelProto:
    g = Graph()
    for act in activations(g).values():
        act(g.conv())
        act(g.add("Sub", g.x(), g.x()))  # factors behind a convolution go into its weights
        act(g.x())
    for op in ("Exp", "Log", "Sqrt", "Neg", "Abs", "Floor", "Ceil", "Round", "Erf", "Sin", "Cos",
               "Sign"):  # fmt: skip
        g.add(op, g.x())
    square = g.x()
    g.add("Mul", square, square)
    g.add("Reciprocal", g.add("Sqrt", g.x()))
    for op in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Pow"):
        g.add(op, g.x(), g.x())
    g.add("Add", g.x(dtype=TensorProto.INT32), g.x(dtype=TensorProto.INT32))
    g.add("PRelu", g.x(), g.w(np.full((8, 1, 1), 0.1)))
    for op in ("Sum", "Mean", "Max", "Min", "Prod"):
        g.add(f"Reduce{op}", g.x(), g.w([3], "int64"))
    g.add("ReduceMax", g.x(dtype=TensorProto.INT32), g.w([3], "int64"))
    # Convolutions: by GEMM, of few channels a group, of one channel a group with each window.
    g.conv(group=4)
    g.add("Conv", g.x([1, 3, 32, 32]), g.w(np.full((8, 3, 3, 3), 0.1)), strides=[2, 2])
    g.add("Conv", g.x([1, 1, 32, 32]), g.w(np.full((16, 1, 5, 5), 0.1)), pads=[2] * 4)
    for k in (3, 5, 7):
        g.conv(k=k, group=8)
    g.conv(k=7, group=8, strides=[2, 2])
    tail = g.add("Add", g.add("Relu", g.conv()), other := g.x())
    g.add("Relu", g.add("Add", g.conv(), other))
    g.add("Exp", tail)
    # Products: the right operand known or not, transposed, of one row, with what may follow.
    known = g.w(np.ones((8, 6)))
    for after in (False, True):
        product = g.add("Gemm", g.x([5, 8]), known, g.w(np.ones(6)))
        added = g.x([5, 6])
        g.add("Add", g.add("Relu", product), added) if after else g.add(
            "Relu", g.add("Add", product, added)
        )
    for rows in (1, 5):
        g.add("MatMul", g.x([rows, 8]), known)
    g.add("MatMul", g.x([2, 5, 8]), g.x([2, 8, 6]))
    # Channels that split in two.
    g.add("MatMul", g.x([5, 64]), g.w(np.ones((64, 64))))
    g.add("Conv", g.x([1, 64, 4, 4]), g.w(np.ones((64, 64, 1, 1))))
    g.add("Gemm", g.x([5, 8]), g.x([6, 8]), transB=1)
    # Weights that are computed, and softmax of products between products.
    residual = g.conv()
    for more in ((), ("Add", "Relu"), ("Relu", "Add")):
        kernel = g.add("Tanh", g.x([8, 8, 3, 3]))
        value = g.add("Conv", residual, kernel, g.w(np.ones(8)), pads=[1] * 4)
        for op in more:
            value = g.add(op, *([value, residual] if op == "Add" else [value]))
    for perm in ([0, 1, 2, 3], [0, 1, 3, 2]):
        for mask in (False, True):
            keys = g.x([2, 3, *(20, 8)[:: 1 if perm[3] == 2 else -1]])
            keys = g.add("Transpose", keys, perm=perm) if perm[3] == 2 else keys
            scores = g.add("MatMul", g.x([2, 3, 20, 8]), keys)
            scores = g.add("Add", scores, g.x([20, 20])) if mask else scores
            g.add("MatMul", g.add("Softmax", scores, axis=-1), g.x([2, 3, 20, 8]))
    # Windows and planes.
    for op in ("MaxPool", "AveragePool"):
        g.add(op, g.x(), kernel_shape=[2, 2])
    g.add("AveragePool", g.x(), kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=1)
    g.add("GlobalMaxPool", g.conv())
    g.add("GlobalAveragePool", g.conv())
    for axis in (1, 3):
        g.add("Softmax", g.x(), axis=axis)
        g.add("LogSoftmax", g.x(), axis=axis)
    one, size = g.w(np.ones(12)), {"axis": -1}
    g.add("LayerNormalization", g.x(), one, **size)
    g.add("LayerNormalization", g.x(), one, one, **size)
    twice = g.w([1, 1, 2, 2])
    for mode in ("nearest", "linear"):
        for coordinates in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
            for x in (g.x(), g.conv()):
                g.add("Resize", x, "", twice, mode=mode, nearest_mode="floor",
                      coordinate_transformation_mode=coordinates)  # fmt: skip
    for rounding in ROUNDING:
        g.add("Resize", g.x(), "", twice, mode="nearest", nearest_mode=rounding)
    # What moves elements.
    for mode in ("constant", "edge", "reflect", "wrap"):
        g.add("Pad", g.x(), g.w([0, 0, 1, 1, 0, 0, 1, 1], "int64"), mode=mode)
    g.add("Transpose", g.x(), perm=[0, 2, 1, 3])
    g.add("Transpose", g.x(dtype=TensorProto.INT64), perm=[0, 2, 1, 3])
    g.add("Concat", g.x(), g.x(), axis=2)
    g.add("Slice", g.x(), g.w([1], "int64"), g.w([9], "int64"), g.w([3], "int64"))
    g.add("Gather", g.x(), g.w([3, 0], "int64"), axis=2)
    return g.model()


def resized(
    x: relax.Expr, method: str, coordinates: str, rounding: str, layout: str = "NCHW"
) -> relax.Expr:
    return relax.op.image.resize2d(
        x,
        (24, 24),
        layout=layout,
        method=method,
        coordinate_transformation_mode=coordinates,
        rounding_method=rounding,
    )


def of_relax() -> tvm.IRModule:
    """What ONNX's importer has no use for, and Relax modules of other origin may hold."""
    op = relax.op
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(IMAGE, "float32"))
    one = relax.const(np.ones(12, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            found = [op.rsqrt(x), op.sign(x), op.square(x), op.trunc(x)]
            found.append(op.nn.layer_norm(x, one, one, -1, center=False, scale=False))
            found.append(op.nn.rms_norm(x, one, -1))
            found += [resized(x, "nearest_neighbor", "half_pixel", r) for r in ROUNDING]
            found.append(resized(x, "linear", "pytorch_half_pixel", ""))
            bytes_ = op.quantize(x, relax.const(np.float32(0.1)), relax.const(np.int8(0)), axis=0)
            found.append(resized(bytes_, "linear", "pytorch_half_pixel", "", "NHWC"))
            ends = [builder.emit_output(builder.normalize(value)) for value in found]
        builder.emit_func_output(relax.Tuple(ends))
    return builder.get()


def test_reach_is_everything() -> None:
    vectors = (*ARCHITECTURES, "cortexm+mve.fp")
    found = reach.reached(everything(), vectors) | reach.matched(of_relax())
    models = reach_models
    for model in (
        models.quantised(), models.weights_alone(), models.halves(), models.bf16(), models.tied(),
        models.cached(0.0), models.cached(2.0), models.cached(0.0, TensorProto.FLOAT16),
        models.cached(0.0, more=True), models.quantised_tables(),
    ):  # fmt: skip
        found |= reach.reached(model, MACHINES)
    for dtype in ("float16", "int8"):
        found |= reach.reached(models.cached(0.0), cache=dtype)
    found |= reach.reached(models.narrowed(), preference=Preference(precision="fp16"))
    found |= reach.reached(models.quantised(), preference=Preference(softmax="integer"))
    for op in ("GlobalMaxPool", "GlobalAveragePool"):
        found |= reach.streamed(models.pooled(op), ("portable", "cortexm+mve.fp"))
    found |= reach.streamed(models.pooled("GlobalAveragePool", TensorProto.FLOAT16), ["arm64"])
    for func in ("AVG", "SUM"):
        found |= reach.streamed(models.pooled_bytes(func), ["arm64"])
    missing = reach.points() - found
    assert not missing, f"nothing reaches {', '.join(sorted(missing))}"
