"""Every quantised layer is within one step of its evaluation in f64, fed with our own inputs.

A model's last bytes say little: a sum that lies next to a tie moves one byte, and that moves
others. So the bytes that a package computes are read call by call, and each convolution and product
is evaluated again from the bytes that it got.
"""

from __future__ import annotations

from dataclasses import dataclass

import corpus
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tvm_megcc import driver
from tvm_megcc.core.this_machine import host_arch
from tvm_megcc.host import dump, package

pytestmark = pytest.mark.slow

Array = np.ndarray
#: Model -> how many layers of it can be read: bytes go in and come out.
LAYERS = {"mlptiny_ic_resnet8_int8": 8, "mlptiny_kws_int8": 8, "mlptiny_ad_int8": 9,
          "shufflenet_v2_int8": 39}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution or product of dequantised bytes whose result is quantised."""

    node: onnx.NodeProto
    data: tuple[str, float, int]  # name, scale, zero point
    weights: Array  # real
    bias: Array | None
    limits: tuple[float, float]
    result: tuple[str, float, int, np.dtype]


class Graph:
    def __init__(self, model: onnx.ModelProto) -> None:
        self.nodes = model.graph.node
        self.made = {name: node for node in self.nodes for name in node.output}
        self.known = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.users: dict[str, list[onnx.NodeProto]] = {}
        for node in self.nodes:
            for name in node.input:
                self.users.setdefault(name, []).append(node)

    def layers(self):
        for node in self.nodes:
            if node.op_type in ("QLinearConv", "QLinearMatMul"):
                yield self._of_operator(node)
            elif node.op_type in ("Conv", "MatMul", "Gemm"):
                found = self._of_qdq(node)
                if found is not None:
                    yield found

    def _of_operator(self, node) -> Layer:
        x, sx, zx, w, sw, zw, sy, zy, *bias = node.input
        axis = 0 if node.op_type == "QLinearConv" else 1
        weights = self._real(w, sw, zw, axis)
        scale = float(self.known[sx]) * self.known[sw].astype(np.float64)
        real = self.known[bias[0]] * scale if bias else None
        point = self.known[zy]
        result = (node.output[0], float(self.known[sy]), int(point), point.dtype)
        data = (x, float(self.known[sx]), int(self.known[zx]))
        return Layer(node, data, weights, real, (-np.inf, np.inf), result)

    def _real(self, name: str, scale: str, zero: str, axis: int) -> Array:
        values, scales, point = (self.known[n].astype(np.float64) for n in (name, scale, zero))
        spread = [1] * values.ndim
        if values.ndim and scales.size > 1:
            spread[axis] = -1
        shaped = (a.reshape(spread if a.size > 1 else ()) for a in (scales, point))
        step, offset = shaped
        return (values - offset) * step

    def _dequantised(self, name: str) -> onnx.NodeProto | None:
        node = self.made.get(name)
        return node if node is not None and node.op_type == "DequantizeLinear" else None

    def _constant(self, name: str) -> Array | None:
        node = self._dequantised(name)
        if node is None or node.input[0] not in self.known:
            return None
        axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
        return self._real(*node.input[:3], axis)

    def _of_qdq(self, node) -> Layer | None:
        data = self._dequantised(node.input[0])
        weights = self._constant(node.input[1])
        if data is None or weights is None or data.input[0] in self.known:
            return None
        bias = self._constant(node.input[2]) if len(node.input) > 2 else None
        value, limits = node.output[0], (-np.inf, np.inf)
        while len(self.users.get(value, ())) == 1:
            (user,) = self.users[value]
            if user.op_type == "Add" and bias is None:
                other = [n for n in user.input if n != value]
                bias = self._constant(other[0]) if other else None
                if bias is None:
                    return None
            elif user.op_type == "Relu":
                limits = (0.0, np.inf)
            elif user.op_type == "QuantizeLinear":
                point = self.known[user.input[2]]
                result = (user.output[0], float(self.known[user.input[1]]), int(point), point.dtype)
                step, zero = (self.known[n] for n in data.input[1:3])
                return Layer(
                    node, (data.input[0], float(step), int(zero)), weights, bias, limits, result
                )
            else:
                return None
            value = user.output[0]
        return None


def evaluated(layer: Layer, x: Array) -> Array:
    """The result's number of steps, before it is rounded, in f64."""
    given = {a.name: onnx.helper.get_attribute_value(a) for a in layer.node.attribute}
    data = (x.astype(np.float64) - layer.data[2]) * layer.data[1]
    if layer.node.op_type in ("MatMul", "Gemm", "QLinearMatMul"):
        w = layer.weights.T if given.get("transB") else layer.weights
        y = data @ w
    else:
        y = convolved(data, layer.weights, given)
    if layer.bias is not None:
        y = y + (layer.bias.reshape(-1, 1, 1) if y.ndim == 4 else layer.bias)
    _, step, zero, dtype = layer.result
    info = np.iinfo(dtype)
    return np.clip(np.clip(y, *layer.limits) / step + zero, info.min, info.max)


def convolved(x: Array, w: Array, given: dict) -> Array:
    """Conv in ONNX's layouts."""
    groups, (oc, _, kh, kw) = given.get("group", 1), w.shape
    sh, sw = given.get("strides", [1, 1])
    top, left, bottom, right = given.get("pads", [0] * 4)
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    n, c, h, width = x.shape
    oh, ow = (h - kh) // sh + 1, (width - kw) // sw + 1
    x, w = x.reshape(n, groups, c // groups, h, width), w.reshape(groups, oc // groups, -1, kh, kw)
    y = np.zeros((n, groups, oc // groups, oh, ow))
    for i in range(kh):
        for j in range(kw):
            taps = x[:, :, :, i : i + sh * oh : sh, j : j + sw * ow : sw][..., :oh, :ow]
            y += np.einsum("ngchw,goc->ngohw", taps, w[..., i, j])
    return y.reshape(n, oc, oh, ow)


def in_layout(array: Array, shape: tuple[int, ...]) -> Array:
    """An image as ONNX has it: packages often leave its channels last."""
    if array.ndim == 4 and array.shape != shape:
        array = array.transpose(0, 3, 1, 2)
    return array.reshape(shape)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_within_a_step(name, shared, tmp_path) -> None:
    model = corpus.load(shared / "models")[name]
    (shapes, cases), *_ = model.shape_sets()
    out = tmp_path / "package"
    driver.compile_model(model.path, out, archs=[host_arch()], input_shapes=shapes)
    inputs = cases[0].inputs()
    opened = package.load(out)
    with dump.recorder(opened, host_arch()) as recorder:
        records, _ = recorder.records(inputs)
    got = {record.name: record.array for record in records} | inputs
    proto = onnx.shape_inference.infer_shapes(onnx.load(model.path))
    checked = 0
    for layer in Graph(proto).layers():
        source, target = layer.data[0], layer.result[0]
        if source not in got or target not in got:
            continue
        x = got[source]
        if layer.node.op_type in ("Conv", "QLinearConv"):
            channels = layer.weights.shape[1] * _groups(layer.node)
            shape = x.shape if x.shape[1] == channels else (x.shape[0], x.shape[3], *x.shape[1:3])
            x = in_layout(x, shape)
        want = evaluated(layer, x)
        ours = in_layout(got[target], want.shape).astype(np.float64)
        far = np.abs(ours - want).max()
        assert far <= 1, f"{layer.node.name}: {far} steps"
        checked += 1
    assert checked >= LAYERS[name]


def _groups(node: onnx.NodeProto) -> int:
    return next((a.i for a in node.attribute if a.name == "group"), 1)
