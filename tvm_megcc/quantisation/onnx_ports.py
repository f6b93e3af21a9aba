"""The ports of a quantised ONNX model as integers, without the nodes that convert them.

    x (f32) -> QuantizeLinear -> ...           ->  x (int8) -> ...
    ... -> DequantizeLinear -> y (f32)         ->  ... -> y (int8)

Enters: a model in QDQ form. Leaves: the model, changed. `passes.IntegerPorts` does the same for a
model that is being compiled.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper

from tvm_megcc.errors import InputError

#: Types of ports -> the type of activations that they are.
IO = {"int8": "s8", "uint8": "u8"}


def make_integer(model: onnx.ModelProto) -> None:
    """Make integers of every port of floats.

    Raises
    ------
    InputError
        A port of floats is not quantised, by several scales, or read as it is.
    """
    graph = model.graph
    weights = {w.name: w for w in graph.initializer}
    for port in graph.input:
        if port.name not in weights and _is_float(port):
            _input(graph, port, weights)
    for port in graph.output:
        if _is_float(port):
            _output(graph, port, weights)


def _is_float(port: onnx.ValueInfoProto) -> bool:
    return port.type.tensor_type.elem_type == onnx.TensorProto.FLOAT


def _input(
    graph: onnx.GraphProto, port: onnx.ValueInfoProto, weights: dict[str, onnx.TensorProto]
) -> None:
    readers = [node for node in graph.node if port.name in node.input]
    first = next((node for node in readers if node.op_type == "QuantizeLinear"), None)
    if first is None:
        raise InputError(
            f"--io: input '{port.name}' is not quantised first, so it cannot be of integers;"
            f" keep fewer nodes in float, or leave out --io"
        )
    other = next((node for node in readers if node is not first), None)
    if other is not None or any(port.name == result.name for result in graph.output):
        who = "an output" if other is None else f"node '{other.name or other.output[0]}'"
        raise InputError(
            f"--io: input '{port.name}' is read as floats, too, by {who}; keep fewer nodes in"
            " float, or leave out --io"
        )
    kind = _type(f"input '{port.name}'", first, weights)
    integers = first.output[0]
    graph.node.remove(first)
    for node in graph.node:
        _renamed(node.input, integers, port.name)
    _forget(graph, integers)
    port.type.tensor_type.elem_type = kind


def _output(
    graph: onnx.GraphProto, port: onnx.ValueInfoProto, weights: dict[str, onnx.TensorProto]
) -> None:
    last = next((node for node in graph.node if port.name in node.output), None)
    if last is None or last.op_type != "DequantizeLinear":
        raise InputError(
            f"--io: output '{port.name}' is not dequantised last, so it cannot be of integers;"
            " keep fewer nodes in float, or leave out --io"
        )
    kind = _type(f"output '{port.name}'", last, weights)
    integers, floats = last.input[0], f"{port.name}_float"
    readers = [node for node in graph.node if port.name in node.input]
    if readers:
        last.output[0] = floats
    else:
        graph.node.remove(last)
    for node in graph.node:
        _renamed(node.input, port.name, floats)
        _renamed(node.input, integers, port.name)
        _renamed(node.output, integers, port.name)
    _forget(graph, integers)
    port.type.tensor_type.elem_type = kind


def _type(what: str, node: onnx.NodeProto, weights: dict[str, onnx.TensorProto]) -> int:
    """Type of a node's integers; InputError if their scale is not one constant."""
    scale = weights.get(node.input[1])
    if scale is None or np.size(numpy_helper.to_array(scale)) != 1:
        raise InputError(
            f"--io: {what} is quantised by more than one scale; give it one, or leave out --io"
        )
    zero = weights.get(node.input[2]) if len(node.input) > 2 else None
    return int(onnx.TensorProto.UINT8 if zero is None else zero.data_type)


def _renamed(names: object, old: str, new: str) -> None:
    for k, name in enumerate(names):  # type: ignore[arg-type, var-annotated]
        if name == old:
            names[k] = new  # type: ignore[index]


def _forget(graph: onnx.GraphProto, name: str) -> None:
    """Drop what the graph says of the type of a value."""
    kept = [value for value in graph.value_info if value.name != name]
    del graph.value_info[:]
    graph.value_info.extend(kept)
