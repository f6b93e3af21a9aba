"""Models that are damaged: what no compiler should do more about than say one sentence."""

from __future__ import annotations

from collections.abc import Callable

import onnx

from tests.fuzz.data import Random

_SIZES = (0, -1, 1, 2, 3, 7, 1 << 16, 46341, (1 << 31) - 1, 1 << 31, 1 << 36, 1 << 40, -(1 << 63))
_NUMBERS = (*_SIZES, 5, 255, -7)


def mutant(model: onnx.ModelProto, rng: Random) -> bytes:
    """The bytes of a model with one to three things changed."""
    damaged = onnx.ModelProto()
    damaged.CopyFrom(model)
    if rng.chance(0.75):
        for _ in range(rng.between(1, 3)):
            rng.one(_CHANGES)(damaged, rng)
    data = damaged.SerializeToString()
    return _bytes(data, rng) if rng.chance(0.4) else data


def _bytes(data: bytes, rng: Random) -> bytes:
    found = bytearray(data)
    for _ in range(rng.between(1, 4)):
        at = rng.below(max(len(found), 1))
        kind = rng.below(4)
        if kind == 0:
            found[at:at] = bytes([rng.below(256)])
        elif kind == 1:
            del found[at : at + rng.between(1, 8)]
        elif kind == 2 and rng.chance(0.2):
            del found[at:]
        elif at < len(found):
            found[at] ^= 1 << rng.below(8)
    return bytes(found)


# ---- one field -----------------------------------------------------------------------------------


def _node(model: onnx.ModelProto, rng: Random) -> onnx.NodeProto:
    return rng.one(model.graph.node)


def _names(model: onnx.ModelProto) -> list[str]:
    graph = model.graph
    names = [p.name for p in graph.input] + [w.name for w in graph.initializer]
    return names + [name for node in graph.node for name in node.output]


def _attribute(model: onnx.ModelProto, rng: Random) -> None:
    node = _node(model, rng)
    if not node.attribute:
        node.attribute.append(
            onnx.helper.make_attribute(
                rng.one(("axis", "axes", "k", "perm")), rng.one((9, [0, 0], 0.5))
            )
        )
        return
    attr = rng.one(node.attribute)
    if attr.ints and rng.chance(0.7):
        attr.ints[rng.below(len(attr.ints))] = rng.one(_NUMBERS)
        if rng.chance(0.3):
            attr.ints.append(rng.one(_NUMBERS))
    elif attr.type == onnx.AttributeProto.INT:
        attr.i = rng.one(_NUMBERS)
    elif attr.type == onnx.AttributeProto.FLOAT:
        attr.f = rng.one((0.0, -1.0, float("nan"), float("inf"), 1e30))
    elif attr.type == onnx.AttributeProto.STRING:
        attr.s = rng.one((b"", b"\xff\n", b"SAME", b"linear"))
    elif attr.type == onnx.AttributeProto.GRAPH and rng.chance(0.5):
        del attr.g.output[:]
    else:
        node.attribute.remove(attr)


def _operand(model: onnx.ModelProto, rng: Random) -> None:
    node = _node(model, rng)
    kind = rng.below(4)
    if not node.input or kind == 0:
        node.input.append(rng.one(_names(model)))
    elif kind == 1:
        del node.input[rng.below(len(node.input))]
    else:
        node.input[rng.below(len(node.input))] = rng.one((*_names(model), "", "nowhere"))


def _result(model: onnx.ModelProto, rng: Random) -> None:
    node = _node(model, rng)
    kind = rng.below(3)
    if kind == 0:
        node.output.append("more")
    elif kind == 1 and node.output:
        node.output[rng.below(len(node.output))] = rng.one((*_names(model), "", "main"))
    else:
        model.graph.output.append(onnx.helper.make_empty_tensor_value_info(rng.one(_names(model))))


def _operator(model: onnx.ModelProto, rng: Random) -> None:
    node = _node(model, rng)
    if rng.chance(0.7):
        node.op_type = _node(model, rng).op_type
    else:
        node.op_type = rng.one(("Conv", "If", "Loop", "Concat", "Reshape", "Nothing", "", "LSTM"))
    if rng.chance(0.2):
        node.domain = rng.one(("com.microsoft", "ai.onnx.ml", "nowhere"))


def _port(model: onnx.ModelProto, rng: Random) -> None:
    if not model.graph.input:
        return
    port = rng.one(model.graph.input)
    ty = port.type.tensor_type
    kind = rng.below(5)
    if kind == 0:
        ty.elem_type = rng.one((0, 1, 2, 7, 8, 11, 14, 16, 17, 22, 77))
    elif kind == 1:
        port.name = rng.one((*_names(model), ""))
    elif kind == 2:
        ty.shape.dim.add().dim_value = rng.one(_SIZES)
    elif kind == 3 and rng.chance(0.5):
        port.ClearField("type")
    elif ty.shape.dim:
        rng.one(ty.shape.dim).dim_value = rng.one(_SIZES)


def _weight(model: onnx.ModelProto, rng: Random) -> None:
    if not model.graph.initializer:
        return
    weight = rng.one(model.graph.initializer)
    kind = rng.below(5)
    if kind == 0:
        weight.data_type = rng.one((0, 1, 2, 6, 7, 8, 11, 14, 16, 77))
    elif kind == 1:
        weight.name = rng.one((*_names(model), ""))
    elif kind == 2 and weight.raw_data:
        weight.raw_data = weight.raw_data[: rng.below(len(weight.raw_data))]
    elif weight.dims:
        weight.dims[rng.below(len(weight.dims))] = rng.one(_SIZES)
    else:
        weight.dims.append(rng.one(_SIZES))


def _opset(model: onnx.ModelProto, rng: Random) -> None:
    entry = rng.one(model.opset_import)
    entry.version = rng.one((0, 1, 6, 9, 13, 28, 99, 1 << 40))


#: What comes often is what files get wrong.
_CHANGES: tuple[Callable[[onnx.ModelProto, Random], None], ...] = (
    _attribute, _attribute, _attribute, _operand, _operand, _result, _operator, _port, _port,
    _weight, _weight, _opset,
)  # fmt: skip
