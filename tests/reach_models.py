"""Models of quantised operators and of halves, for `test_reach`."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
from numpy.typing import DTypeLike
from onnx import TensorProto, helper, numpy_helper

I8, U8, F32, F16 = TensorProto.INT8, TensorProto.UINT8, TensorProto.FLOAT, TensorProto.FLOAT16


class Nodes:
    """Nodes with inputs of their own, and the results that nobody reads as outputs."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.weights: list[onnx.TensorProto] = []

    def x(self, *shape: int, dtype: int = I8) -> str:
        self.inputs.append(helper.make_tensor_value_info(f"x{len(self.inputs)}", dtype, shape))
        return self.inputs[-1].name

    def w(self, value: object, dtype: DTypeLike = "float32") -> str:
        array = np.asarray(value, dtype)
        self.weights.append(numpy_helper.from_array(array, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def add(self, op: str, *inputs: str, results: int = 1, domain: str = "", **attrs: object):
        names = [f"v{len(self.nodes)}_{k}" for k in range(results)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attrs))
        return names[0] if results == 1 else names

    def model(self) -> onnx.ModelProto:
        read = {name for node in self.nodes for name in node.input}
        ends = [v for node in self.nodes for v in node.output if v not in read]
        outputs = [onnx.ValueInfoProto(name=name) for name in ends]
        graph = helper.make_graph(self.nodes, "reach", self.inputs, outputs, self.weights)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        return onnx.shape_inference.infer_shapes(model)


def quantised() -> onnx.ModelProto:
    """Convolutions and products of 8 bits in every form, and what is beside them."""
    g = Nodes()
    zero, one = g.w(0, "int8"), g.w(0.1)

    def conv(channels: int, k: int, group: int, low: int = -127) -> str:
        w = np.full((channels, channels // group, k, k), 5, "int8")
        w.flat[0] = low
        x = g.x(1, channels, 9, 10)
        return g.add("QLinearConv", x, one, zero, g.w(w, "int8"), one, zero, one, zero,
                     pads=[k // 2] * 4, group=group)  # fmt: skip

    for low in (-127, -128):
        conv(24, 3, 1, low)
    conv(3, 3, 1)
    conv(8, 3, 4)  # groups of few channels
    for k in (3, 5, 7):
        conv(32, k, 32)
    # Sums, real numbers, offsets; scales of all channels and of each; a zero point of the data's.
    weights = g.w(np.full((24, 8, 1, 1), 3), "int8")
    g.add("ConvInteger", g.x(1, 8, 6, 7), weights)
    for scale, offset in ((1, 0), (24, 0), (24, 1)):
        real = g.add("Cast", g.add("ConvInteger", g.x(1, 8, 6, 7), weights), to=F32)
        real = g.add("Mul", real, g.w(np.full((1, scale, 1, 1), 0.1)))
        if offset:
            g.add("Add", real, g.w(np.ones((1, 24, 1, 1))))
    data, step, point = g.add("DynamicQuantizeLinear", g.x(1, 8, 6, 7, dtype=F32), results=3)
    total = g.add("Cast", g.add("ConvInteger", data, weights, point), to=F32)
    g.add("Mul", total, step)
    # Products: rows, one row, a computed right-hand side as it is and transposed.
    right = g.w(np.full((40, 30), 3), "int8")
    for rows in (1, 5):
        g.add("QLinearMatMul", g.x(rows, 40), one, zero, right, one, zero, one, zero)
    for trans in (0, 1):
        other = g.x(2, 40, 30) if not trans else g.x(2, 30, 40)
        other = g.add("Transpose", other, perm=[0, 2, 1]) if trans else other
        g.add("QLinearMatMul", g.x(2, 5, 40), one, zero, other, one, zero, one, zero)
    wide = g.w(np.where(np.arange(1200).reshape(40, 30) == 7, -128, 3), "int8")
    g.add("MatMulInteger", g.x(5, 40), wide)
    for scale, offset in ((1, 0), (30, 1)):
        real = g.add("Cast", g.add("MatMulInteger", g.x(5, 40), right), to=F32)
        real = g.add("Mul", real, g.w(np.full(scale, 0.1)))
        if offset:
            g.add("Add", real, g.w(np.ones(30)))
    data, step, point = g.add("DynamicQuantizeLinear", g.x(5, 40, dtype=F32), results=3)
    total = g.add("Cast", g.add("MatMulInteger", data, right, point), to=F32)
    g.add("Mul", total, step)
    real = [g.add("DequantizeLinear", g.x(2, n, 40), one, zero) for n in (5, 30)]
    g.add("MatMul", real[0], g.add("Transpose", real[1], perm=[0, 2, 1]))
    # Zero points of the data's on both sides, or one that no kernel packs.
    total = g.add("MatMulInteger", data, g.x(40, 30), point)
    g.add("Mul", g.add("Cast", total, to=F32), step)
    # What is beside them.
    for op in ("Add", "Mul"):
        real = [g.add("DequantizeLinear", g.x(1, 8, 6, 7), one, zero) for _ in range(2)]
        g.add("QuantizeLinear", g.add(op, *real), one, zero)
    real = g.add("Sigmoid", g.add("DequantizeLinear", g.x(1, 8, 6, 7), one, zero))
    g.add("QuantizeLinear", real, one, zero)
    g.add("QuantizeLinear", g.x(1, 8, 6, 7, dtype=F32), one, zero)
    g.add("MaxPool", g.x(1, 8, 6, 7), kernel_shape=[2, 2])
    for count in (0, 1):
        real = g.add("DequantizeLinear", g.x(1, 8, 6, 7), one, zero)
        window = {"kernel_shape": [2, 2], "pads": [1] * 4, "count_include_pad": count}
        g.add("QuantizeLinear", g.add("AveragePool", real, **window), one, zero)
    for rule in ("half_pixel", "asymmetric", "align_corners"):
        scales = g.w([1, 1, 2, 1.5])
        attrs = {"mode": "linear", "coordinate_transformation_mode": rule}
        data = conv(8, 1, 1)
        g.add("Resize", data, "", scales, **attrs)
        real = g.add("Resize", g.add("DequantizeLinear", data, one, zero), "", scales, **attrs)
        g.add("QuantizeLinear", real, one, zero)
    scales = g.w([1, 1, 2, 2])
    g.add("Resize", conv(8, 1, 1), "", scales, mode="linear")
    for axis in (-1, 0):
        real = g.add("Softmax", g.add("DequantizeLinear", g.x(3, 12), one, zero), axis=axis)
        g.add("QuantizeLinear", real, one, zero)
    whole = [conv(8, 1, 1), one, zero, one, zero]
    g.add("QLinearGlobalAveragePool", *whole, domain="com.microsoft")
    return g.model()


def weights_alone() -> onnx.ModelProto:
    """Products of floats by quantised weights: of 4 and 8 bits, with all that may follow."""
    g = Nodes()
    for rows in (1, 9):
        for bits, low in ((4, -7), (8, -127)):
            for scales in ((), (24,)):
                for zero in (0, 1):
                    w = np.where(np.arange(1536).reshape(64, 24) % 7, low, 6)
                    point = g.w(np.full(scales, zero), "int8")
                    w.flat[len(g.nodes)] = 1  # no two are equal
                    operands = [g.w(w, "int8"), g.w(np.full(scales, 0.1)), point]
                    real = g.add("DequantizeLinear", *operands, axis=1)
                    y = g.add("MatMul", g.x(rows, 64, dtype=F32), real)
                    if bits == 8:
                        y = g.add("Add", y, g.w(np.ones(24)))
                    if zero:
                        y = g.add("Relu", y) if scales else y
                        g.add("Add", y, g.x(rows, 24, dtype=F32))
    _int8_rows(g, F32)
    return g.model()


def _int8_rows(g: Nodes, dtype: int) -> None:
    """Products of one row and of several that become int8, by weights of 4 bits in blocks."""
    kind = "float16" if dtype == F16 else "float32"
    for rows in (1, 9):
        packed = g.w(np.arange(24 * 2 * 16).reshape(24, 2, 16) % 251 + rows, "uint8")
        operands = [g.x(rows, 64, dtype=dtype), packed, g.w(np.full((24, 2), 0.125), kind)]
        g.add("MatMulNBits", *operands, domain="com.microsoft", K=64, N=24, bits=4, block_size=32,
              accuracy_level=4)  # fmt: skip


def halves() -> onnx.ModelProto:
    """A model in f16."""
    g = Nodes()

    def x(*shape: int) -> str:
        return g.x(*shape, dtype=F16)

    def half(*shape: int) -> str:
        return g.w(np.full(shape, 0.1), "float16")

    def conv(channels: int, k: int, group: int, **more: object) -> str:
        w = half(channels, channels // group, k, k)
        return g.add("Conv", x(1, channels, 24, 24), w, group=group, pads=[k // 2] * 4, **more)

    conv(32, 3, 1)
    conv(32, 1, 1)
    g.add("Conv", x(1, 32, 2, 2), half(32, 32, 1, 1))  # too few pixels to widen weights for
    for k in (3, 5, 7):
        conv(32, k, 32)
    conv(32, 7, 32, strides=[2, 2])
    g.add("GlobalAveragePool", conv(32, 1, 1))
    for op in ("MaxPool", "AveragePool"):
        g.add(op, conv(32, 1, 1), kernel_shape=[2, 2])
    g.add("MatMul", x(96, 64), half(64, 24))
    for rows in (1, 9):
        g.add("MatMul", x(rows, 64), half(64, 24))
        w = np.arange(1536).reshape(64, 24) % 7 + rows
        real = g.add("DequantizeLinear", g.w(w, "int8"), half(24), axis=1)
        g.add("MatMul", x(rows, 64), real)
    _int8_rows(g, F16)
    g.add("Conv", x(1, 8, 24, 24), g.add("Tanh", x(8, 8, 3, 3)), pads=[1] * 4)
    scales = g.w([1, 1, 2, 2])
    g.add("Resize", conv(32, 1, 1), "", scales, mode="linear")
    g.add("MatMul", x(2, 9, 64), x(2, 64, 24))
    g.add("Softmax", x(4, 33))
    g.add("LayerNormalization", x(4, 33), half(33), half(33))
    g.add("ReduceMax", x(4, 33), g.w([1], "int64"))
    g.add("Add", x(4, 33), x(4, 33))
    g.add("Tanh", x(4, 33))
    g.add("Cast", x(4, 33), to=F32)
    return g.model()


def narrowed() -> onnx.ModelProto:
    """A model in f32 whose product is in f16 with ``--precision fp16``."""
    g = Nodes()
    g.add("MatMul", g.x(9, 64, dtype=F32), g.w(np.full((64, 24), 0.1)))
    return g.model()


def tied() -> onnx.ModelProto:
    """A table whose rows are read and by which a product is made."""
    g = Nodes()
    table = g.w(np.arange(4096).reshape(64, 64) % 7)
    g.add("Gather", table, g.x(3, dtype=TensorProto.INT64))
    g.add("MatMul", g.x(9, 64, dtype=F32), g.add("Transpose", table, perm=[1, 0]))
    return g.model()


def cached(softcap: float, kind: int = F32, more: bool = False) -> onnx.ModelProto:
    """Attention over a cache, whose keys and values are results; with a bias and sinks, too."""
    g = Nodes()
    x, past = g.x(1, 2, 64, dtype=kind), [g.x(1, 2, 9, 8, dtype=kind) for _ in range(2)]
    last, total = g.w(np.array([6], np.int32)), g.w(np.array(7, np.int32))
    others = ["", "", "", g.x(1, 4, 2, 7, dtype=kind), g.x(4, dtype=kind)] if more else []
    g.add("GroupQueryAttention", x, "", "", *past, last, total, *others, results=3,
          domain="com.microsoft", num_heads=4, kv_num_heads=2, softcap=softcap)  # fmt: skip
    return g.model()


def quantised_tables() -> onnx.ModelProto:
    """Rows of quantised tables: 4 and 8 bits, with zero points and without."""
    g, rng = Nodes(), np.random.default_rng(0)
    for bits, zero in ((4, 0), (8, 1)):
        table = g.w(rng.integers(0, 256, (9, 32 * bits // 8)), "u1")
        index = g.w([3, 1], "i8")
        operands = [table, index, g.w(np.full((9, 2), 0.5))]
        if zero:
            operands.append(g.w(np.full((9, 2 * bits // 8), 0x35), "u1"))
        g.add("GatherBlockQuantized", *operands, domain="com.microsoft", bits=bits, block_size=16)
    return g.model()


def bf16() -> onnx.ModelProto:
    """A model in bf16, whose weights stay so."""
    g, kind = Nodes(), TensorProto.BFLOAT16

    def w(*shape: int) -> str:
        return g.w(np.full(shape, 0.125), ml_dtypes.bfloat16)

    for channels, k, group in ((32, 3, 1), (32, 1, 1), (32, 3, 32), (32, 5, 32), (32, 7, 32)):
        weights = w(channels, channels // group, k, k)
        g.add("Conv", g.x(1, channels, 24, 24, dtype=kind), weights, group=group,
              pads=[k // 2] * 4)  # fmt: skip
    for rows in (1, 9):
        g.add("MatMul", g.x(rows, 64, dtype=kind), w(64, 24))
    return g.model()


def pooled(op: str, dtype: int = F32) -> onnx.ModelProto:
    """A convolution and the maxima or averages of all pixels of its result."""
    g = Nodes()
    kind = "float32" if dtype == F32 else "float16"
    weights = g.w(np.full((8, 8, 3, 3), 0.1), kind)
    g.add(op, g.add("Conv", g.x(1, 8, 24, 24, dtype=dtype), weights, pads=[1] * 4))
    return g.model()


def pooled_bytes(func: str) -> onnx.ModelProto:
    """The same in 8 bits: averages, or sums times a scale."""
    g = Nodes()
    zero, one = g.w(0, "int8"), g.w(0.1)
    weights = g.w(np.full((8, 8, 3, 3), 5), "int8")
    x = g.add("QLinearConv", g.x(1, 8, 24, 24), one, zero, weights, one, zero, one, zero,
              pads=[1] * 4)  # fmt: skip
    if func == "AVG":
        real = g.add("GlobalAveragePool", g.add("DequantizeLinear", x, one, zero))
    else:
        total = g.add("ReduceSum", g.add("Cast", x, to=TensorProto.INT32), g.w([2, 3], "int64"))
        real = g.add("Mul", g.add("Cast", total, to=F32), g.w(0.01))
    g.add("QuantizeLinear", real, one, zero)
    return g.model()
