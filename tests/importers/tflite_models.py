"""TFLite models that the tests make, float and int8, and what LiteRT computes of them.

Example
-------
>>> made = Model("tiny")                                                 # doctest: +SKIP
>>> x = made.tensor("x", (1, 4))                                         # doctest: +SKIP
>>> data = made.saved([x], [made.op("RELU", [x], "y", (1, 4))])          # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

schema = pytest.importorskip("ai_edge_litert.schema_py_generated", reason="no ai-edge-litert")
flatbuffers = pytest.importorskip("flatbuffers", reason="no flatbuffers")
pytest.importorskip("tflite", reason="no tflite: pip install tflite")

#: The input of the models here, as TensorFlow's converter calls inputs.
IMAGE = "serving_default_image:0"

_SAME, _VALID = schema.Padding.SAME, schema.Padding.VALID


@dataclass(frozen=True, slots=True)
class Quantised:
    """real = scale * (stored - point); one scale each for the places of an axis, or one."""

    scale: float | Sequence[float]
    point: int = 0
    axis: int = 0


class Model:
    """A subgraph as it grows; a tensor is its number."""

    def __init__(self, name: str) -> None:
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.description = name
        self.model.buffers = [schema.BufferT()]
        self.model.operatorCodes = []
        self.graph = schema.SubGraphT()
        self.graph.name, self.graph.tensors, self.graph.operators = name, [], []
        self.model.subgraphs = [self.graph]

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str = "float32",
        quantised: Quantised | None = None,
        signature: Sequence[int] | None = None,
        buffer: int = 0,
    ) -> int:
        made = schema.TensorT()
        made.name, made.shape, made.buffer = name, [int(d) for d in shape], buffer
        made.type = getattr(schema.TensorType, dtype.upper())
        made.shapeSignature = None if signature is None else list(signature)
        if quantised is not None:
            made.quantization = schema.QuantizationParametersT()
            scales = np.atleast_1d(np.float32(quantised.scale))
            made.quantization.scale = scales.tolist()
            made.quantization.zeroPoint = [quantised.point] * len(scales)
            made.quantization.quantizedDimension = quantised.axis
        self.graph.tensors.append(made)
        return len(self.graph.tensors) - 1

    def constant(self, name: str, value: np.ndarray, quantised: Quantised | None = None) -> int:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(value.tobytes(), np.uint8)
        self.model.buffers.append(buffer)
        number = len(self.model.buffers) - 1
        return self.tensor(name, value.shape, str(value.dtype), quantised, buffer=number)

    def op(
        self,
        kind: str,
        inputs: Sequence[int],
        name: str,
        shape: Sequence[int],
        dtype: str = "float32",
        quantised: Quantised | None = None,
        options: tuple[str, Mapping[str, Any]] | None = None,
    ) -> int:
        """An operator with one output; `options` are the name of its table, and fields of it."""
        made = schema.OperatorT()
        made.opcodeIndex = self._code(kind)
        out = self.tensor(name, shape, dtype, quantised)
        made.inputs, made.outputs = list(inputs), [out]
        if options is not None:
            table, fields = options
            made.builtinOptionsType = getattr(schema.BuiltinOptions, table)
            made.builtinOptions = getattr(schema, f"{table}T")()
            for key, value in fields.items():
                assert hasattr(made.builtinOptions, key), key
                setattr(made.builtinOptions, key, value)
        self.graph.operators.append(made)
        return out

    def _code(self, kind: str) -> int:
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, kind)
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.version = 1 if kind not in ("CONV_2D", "DEPTHWISE_CONV_2D") else 3
        self.model.operatorCodes.append(code)
        return len(self.model.operatorCodes) - 1

    def saved(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        self.graph.inputs, self.graph.outputs = list(inputs), list(outputs)
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def litert(model: bytes, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of LiteRT's reference interpreter, in the model's order."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=model)
    interpreter.allocate_tensors()
    for port, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(port["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(p["index"]) for p in interpreter.get_output_details()]


def _random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def float_model() -> bytes:
    """The operators of an image network: 9x9x3 to 5 probabilities, and the features before them."""
    made = Model("float_net")
    x = made.tensor(IMAGE, (1, 9, 9, 3))
    w1 = made.constant("w1", _random(1, 8, 3, 3, 3) * 0.3)
    b1 = made.constant("b1", _random(2, 8))
    strided = {"padding": _SAME, "strideH": 2, "strideW": 2, "fusedActivationFunction": 3}
    y = made.op("CONV_2D", [x, w1, b1], "conv", (1, 5, 5, 8), options=("Conv2DOptions", strided))
    w2 = made.constant("w2", _random(3, 1, 3, 3, 8) * 0.3)
    b2 = made.constant("b2", _random(4, 8))
    depthwise = {"padding": _SAME, "strideH": 1, "strideW": 1, "depthMultiplier": 1}
    d = made.op(
        "DEPTHWISE_CONV_2D", [y, w2, b2], "depthwise", (1, 5, 5, 8),
        options=("DepthwiseConv2DOptions", depthwise | {"fusedActivationFunction": 1}),
    )  # fmt: skip
    y = made.op("ADD", [y, d], "sum", (1, 5, 5, 8), options=("AddOptions", {}))
    pool = {"padding": _VALID, "strideH": 2, "strideW": 2, "filterHeight": 2, "filterWidth": 2}
    y = made.op("MAX_POOL_2D", [y], "pooled", (1, 2, 2, 8), options=("Pool2DOptions", pool))
    flat = made.constant("flat", np.array([1, 32], np.int32))
    f = made.op("RESHAPE", [y, flat], "features", (1, 32))
    w3, b3 = made.constant("w3", _random(5, 5, 32) * 0.2), made.constant("b3", _random(6, 5))
    dense = ("FullyConnectedOptions", {})
    y = made.op("FULLY_CONNECTED", [f, w3, b3], "dense", (1, 5), options=dense)
    y = made.op("SOFTMAX", [y], "probability", (1, 5), options=("SoftmaxOptions", {"beta": 1.0}))
    return made.saved([x], [y, f])


def heads_model() -> bytes:
    """One image, and an output for each of some other operators and forms."""
    made = Model("heads")
    x = made.tensor(IMAGE, (1, 6, 5, 4))
    wide = {"padding": _SAME, "strideH": 1, "strideW": 2, "depthMultiplier": 2}
    w, b = made.constant("w_wide", _random(7, 1, 3, 3, 8)), made.constant("b_wide", _random(8, 8))
    ints = {
        name: made.constant(name, np.array(value, np.int32))
        for name, value in {
            "size": [12, 10], "pads": [[0, 0], [1, 2], [0, 1], [0, 0]], "planes": [1, 2],
            "order": [0, 3, 1, 2], "made": [1, 12, 10, 2],
        }.items()
    }  # fmt: skip
    grouped = made.constant("w_groups", _random(9, 6, 3, 3, 2))
    none = made.constant("b_groups", _random(10, 6))
    up, slope = made.constant("w_up", _random(11, 2, 3, 3, 4)), made.constant("a", _random(12, 4))
    valid = {"padding": _VALID, "strideH": 1, "strideW": 1}
    half = {"halfPixelCenters": True, "alignCorners": False}
    mean = {"padding": _SAME, "strideH": 2, "strideW": 2, "filterHeight": 3, "filterWidth": 3}
    outputs = [
        made.op("DEPTHWISE_CONV_2D", [x, w, b], "twice_as_wide", (1, 6, 3, 8),
                options=("DepthwiseConv2DOptions", wide)),
        made.op("CONV_2D", [x, grouped, none], "in_groups", (1, 4, 3, 6),
                options=("Conv2DOptions", valid)),
        made.op("TRANSPOSE_CONV", [ints["made"], up, x], "upwards", (1, 12, 10, 2),
                options=("TransposeConvOptions", valid | {"padding": _SAME, "strideH": 2,
                                                          "strideW": 2})),
        made.op("AVERAGE_POOL_2D", [x], "means", (1, 3, 3, 4), options=("Pool2DOptions", mean)),
        made.op("RESIZE_BILINEAR", [x, ints["size"]], "larger", (1, 12, 10, 4),
                options=("ResizeBilinearOptions", half)),
        made.op("PAD", [x, ints["pads"]], "padded", (1, 9, 6, 4), options=("PadOptions", {})),
        made.op("MEAN", [x, ints["planes"]], "mean", (1, 4),
                options=("ReducerOptions", {"keepDims": False})),
        made.op("TRANSPOSE", [x, ints["order"]], "planes_first", (1, 4, 6, 5),
                options=("TransposeOptions", {})),
        made.op("CONCATENATION", [x, x], "joined", (1, 6, 5, 8),
                options=("ConcatenationOptions", {"axis": 3})),
        made.op("PRELU", [x, slope], "leaking", (1, 6, 5, 4)),
        made.op("HARD_SWISH", [x], "swish", (1, 6, 5, 4)),
        made.op("LOGISTIC", [x], "logistic", (1, 6, 5, 4)),
    ]  # fmt: skip
    return made.saved([x], outputs)


def corrected_model() -> bytes:
    """An output for each operator of which TVM 0.27's own converter makes something else."""
    made = Model("corrected")
    x = made.tensor(IMAGE, (2, 4, 6))
    ints = {
        name: made.constant(name, np.array(value, np.int32))
        for name, value in {
            "axis": 1, "places": [[1, 3], [0, 2]], "block": [2], "pads": [[1, 1]],
            "crops": [[0, 1]], "largest": 2,
        }.items()
    }  # fmt: skip
    w, b = made.constant("w", _random(13, 5, 6)), made.constant("b", _random(14, 5))
    dense = ("FullyConnectedOptions", {"keepNumDims": False, "fusedActivationFunction": 1})
    indices = ("ArgMaxOptions", {"outputType": schema.TensorType.INT32})
    batches = made.op("SPACE_TO_BATCH_ND", [x, ints["block"], ints["pads"]], "batches", (4, 3, 6))
    outputs = [
        made.op("EXPAND_DIMS", [x, ints["axis"]], "expanded", (2, 1, 4, 6)),
        made.op("GATHER_ND", [x, ints["places"]], "gathered", (2, 6)),
        made.op("GELU", [x], "gelu", (2, 4, 6), options=("GeluOptions", {"approximate": True})),
        made.op("SOFTMAX", [x], "cold", (2, 4, 6), options=("SoftmaxOptions", {"beta": 2.5})),
        made.op("FULLY_CONNECTED", [x, w, b], "dense", (8, 5), options=dense),
        made.op("ARG_MAX", [x, ints["largest"]], "where", (2, 4), "int32", options=indices),
        batches,
        made.op("BATCH_TO_SPACE_ND", [batches, ints["block"], ints["crops"]], "back", (2, 5, 6)),
    ]
    return made.saved([x], outputs)


def moving_model() -> bytes:
    """int8 elements that only move."""
    made, steps = Model("moving"), Quantised(0.05, 3)
    x = made.tensor(IMAGE, (3, 4), "int8", steps)
    pads = made.constant("pads", np.array([[1, 0], [0, 2]], np.int32))
    order = made.constant("order", np.array([1, 0], np.int32))
    padded = made.op("PAD", [x, pads], "padded", (4, 6), "int8", steps, ("PadOptions", {}))
    options = ("TransposeOptions", {})
    y = made.op("TRANSPOSE", [padded, order], "turned", (6, 4), "int8", steps, options)
    return made.saved([x], [padded, y])


def averages_model(dtype: str) -> bytes:
    """Averages of 8 bits: of whole windows, of windows beyond the image, within limits."""
    made, steps = Model("averages"), Quantised(0.05, 3 if dtype == "int8" else 120)
    x = made.tensor(IMAGE, (1, 9, 8, 5), dtype, steps)

    def pool(name: str, padding: int, size: tuple[int, int], step: int, act: int = 0) -> int:
        fields = {
            "padding": padding, "strideH": step, "strideW": step, "filterHeight": size[0],
            "filterWidth": size[1], "fusedActivationFunction": act,
        }  # fmt: skip
        sizes = [-(-n // step) if padding == _SAME else (n - k) // step + 1
                 for n, k in zip((9, 8), size, strict=True)]  # fmt: skip
        options = ("Pool2DOptions", fields)
        return made.op("AVERAGE_POOL_2D", [x], name, (1, *sizes, 5), dtype, steps, options)

    outputs = [pool("plain", _VALID, (2, 2), 2), pool("beyond", _SAME, (3, 4), 2),
               pool("whole", _VALID, (9, 8), 1), pool("limited", _SAME, (2, 2), 1, 3)]  # fmt: skip
    return made.saved([x], outputs)


def quantised_heads_model() -> bytes:
    """One image of int8, and an output for each of some other operators and forms."""
    made, image = Model("int8_heads"), Quantised(0.05, 3)
    x = made.tensor(IMAGE, (1, 6, 5, 4), "int8", image)
    ints = {
        name: made.constant(name, np.array(value, np.int32))
        for name, value in {
            "size": [12, 10], "pads": [[0, 0], [1, 2], [0, 1], [0, 0]], "planes": [1, 2],
            "made": [1, 12, 10, 2],
        }.items()
    }  # fmt: skip
    outputs: list[int] = []

    def op(kind: str, inputs: list[int], name: str, shape: Sequence[int], table: str,
           steps: Quantised = image, **fields: Any) -> None:  # fmt: skip
        outputs.append(made.op(kind, inputs, name, shape, "int8", steps, (table, fields)))

    def weights(name: str, *shape: int, axis: int = 0) -> list[int]:
        return _weights(made, name, _random(len(name), *shape), axis, image)

    same, valid = ({"padding": p, "strideH": 1, "strideW": 1} for p in (_SAME, _VALID))
    twice = {"padding": _SAME, "strideH": 2, "strideW": 2}
    wide, up = Quantised(0.3, 3), weights("_up", 2, 3, 3, 4)
    depthwise, planes = weights("_twice", 1, 3, 3, 8, axis=3), ints["planes"]
    table, nearest = "DepthwiseConv2DOptions", "ResizeNearestNeighborOptions"
    op("DEPTHWISE_CONV_2D", [x, *depthwise], "wide", (1, 6, 5, 8), table, wide, **same,
       depthMultiplier=2, fusedActivationFunction=1)  # fmt: skip
    op("CONV_2D", [x, *weights("_groups", 6, 3, 3, 2)], "in_groups", (1, 4, 3, 6), "Conv2DOptions",
       wide, **valid, fusedActivationFunction=3)  # fmt: skip
    op("CONV_2D", [x, *weights("_apart", 6, 3, 3, 4)], "dilated", (1, 6, 5, 6), "Conv2DOptions",
       wide, **same, dilationHFactor=2, dilationWFactor=2)  # fmt: skip
    op("TRANSPOSE_CONV", [ints["made"], up[0], x, up[1]], "upwards", (1, 12, 10, 2),
       "TransposeConvOptions", wide, **twice)  # fmt: skip
    tiles = weights("_tiles", 2, 2, 2, 4)
    op("TRANSPOSE_CONV", [ints["made"], tiles[0], x, tiles[1]], "tiles", (1, 12, 10, 2),
       "TransposeConvOptions", wide, **twice | {"padding": _VALID})  # fmt: skip
    op("MAX_POOL_2D", [x], "largest", (1, 3, 3, 4), "Pool2DOptions", **twice, filterHeight=3,
       filterWidth=3, fusedActivationFunction=3)  # fmt: skip
    op("RESIZE_BILINEAR", [x, ints["size"]], "larger", (1, 12, 10, 4), "ResizeBilinearOptions",
       halfPixelCenters=True)  # fmt: skip
    op("RESIZE_NEAREST_NEIGHBOR", [x, ints["size"]], "nearest", (1, 12, 10, 4), nearest)
    op("PAD", [x, ints["pads"]], "padded", (1, 9, 6, 4), "PadOptions")
    op("MEAN", [x, planes], "mean", (1, 4), "ReducerOptions", Quantised(0.04, 5), keepDims=False)
    return made.saved([x], outputs)


def quantised_model() -> bytes:
    """`float_model` in int8, with a scale per channel of the weights."""
    made = Model("int8_net")
    image = Quantised(0.03, -3)
    x = made.tensor(IMAGE, (1, 9, 9, 3), "int8", image)
    first, second, summed = Quantised(0.02, -128), Quantised(0.04, -128), Quantised(0.05, -120)
    strided = {"padding": _SAME, "strideH": 2, "strideW": 2, "fusedActivationFunction": 3}
    weights = _weights(made, "1", _random(1, 8, 3, 3, 3) * 0.3, 0, image)
    shape = (1, 5, 5, 8)
    options = ("Conv2DOptions", strided)
    y = made.op("CONV_2D", [x, *weights], "conv", shape, "int8", first, options)
    weights = _weights(made, "2", _random(3, 1, 3, 3, 8) * 0.3, 3, first)
    depthwise = {"padding": _SAME, "strideH": 1, "strideW": 1, "depthMultiplier": 1}
    options = ("DepthwiseConv2DOptions", depthwise | {"fusedActivationFunction": 1})
    d = made.op("DEPTHWISE_CONV_2D", [y, *weights], "depthwise", shape, "int8", second, options)
    y = made.op("ADD", [y, d], "sum", shape, "int8", summed, ("AddOptions", {}))
    pool = {"padding": _VALID, "strideH": 2, "strideW": 2, "filterHeight": 2, "filterWidth": 2}
    options = ("Pool2DOptions", pool)
    y = made.op("AVERAGE_POOL_2D", [y], "pooled", (1, 2, 2, 8), "int8", summed, options)
    flat = made.constant("flat", np.array([1, 32], np.int32))
    f = made.op("RESHAPE", [y, flat], "features", (1, 32), "int8", summed)
    weights = _weights(made, "3", _random(5, 5, 32) * 0.2, 0, summed)
    options, dense = ("FullyConnectedOptions", {}), Quantised(0.1, 5)
    y = made.op("FULLY_CONNECTED", [f, *weights], "dense", (1, 5), "int8", dense, options)
    options, unit = ("SoftmaxOptions", {"beta": 1.0}), Quantised(1 / 256, -128)
    y = made.op("SOFTMAX", [y], "probability", (1, 5), "int8", unit, options)
    return made.saved([x], [y, f])


def _weights(made: Model, name: str, w: np.ndarray, axis: int, data: Quantised) -> list[int]:
    """int8 weights with a scale per channel, and an int32 bias in the scale of the products."""
    others = tuple(k for k in range(w.ndim) if k != axis)
    scales = np.abs(w).max(others, keepdims=True) / 127
    channels = [float(v) for v in scales.reshape(-1)]
    stored = made.constant(
        f"w{name}", np.round(w / scales).astype(np.int8), Quantised(channels, 0, axis)
    )
    products = [v * float(data.scale) for v in channels]  # type: ignore[arg-type]
    bias = np.round(_random(len(name) + w.size, len(channels)) / products).astype(np.int32)
    return [stored, made.constant(f"b{name}", bias, Quantised(products, 0, 0))]
