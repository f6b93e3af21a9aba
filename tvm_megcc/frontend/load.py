"""Read a model and check what everything after relies on: a graph, opsets, weights, an order.

Enters: a path or a ``ModelProto``. Leaves: a ``ModelProto`` of our own whose nodes are sorted,
whose external data is found and whose every name is defined once.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from tvm_megcc.core import model_file
from tvm_megcc.core.dtypes import of_onnx

from ..errors import InputError, UnsupportedError
from . import kinds, mapped, text, wellformed
from .graphs import bodies, graphs, node_reads
from .text import REMEDY as _REMEDY
from .values import label, tensor_type


def load(
    model: str | os.PathLike[str] | onnx.ModelProto, *, keep_data: bool = True
) -> tuple[onnx.ModelProto, str]:
    """The checked model and its name (the file's stem, or the graph's name).

    Parameters
    ----------
    model : path or onnx.ModelProto
    keep_data : bool
        Whether the model has the data of its large tensors; else those of a file say where it is
        (see `mapped`), and nothing but `mapped.to_array` can read it.
    """
    if isinstance(model, onnx.ModelProto):
        proto = onnx.ModelProto()
        proto.CopyFrom(model)
        text.check(proto, "the model")
        name = proto.graph.name or "model"
        _check(proto, f"model '{name}'")
        _check_no_external(proto, name)
    else:
        path = Path(model)
        proto, name = _read(path), path.stem
        text.check(proto, f"'{path}'")
        _check(proto, f"'{path}'")
        _place_external(proto, path)
        if keep_data:
            for tensor in _tensors(proto):
                if mapped.place_of(tensor) is not None:
                    tensor.CopyFrom(mapped.loaded(tensor))
    wellformed.check(proto)
    _type_outputs(proto)
    _check_ports(proto.graph)
    sort(proto.graph)
    return proto, name


def _read(path: Path) -> onnx.ModelProto:
    """The model in a file; of a regular one large tensors stay in the file."""
    data = model_file.content(path, "an ONNX model")
    if isinstance(data, bytes):
        return parse(data, f"'{path}'")
    try:
        return mapped.parse(data, path.absolute())
    except _NO_MODEL:
        raise model_file.not_onnx(data, f"'{path}'") from None


#: What protobuf raises of bytes that are no model.
_NO_MODEL = (DecodeError, ValueError, RuntimeError)


def parse(data: bytes, what: str) -> onnx.ModelProto:
    """The model that bytes are; `what` is where they come from.

    Raises
    ------
    InputError
        They are none.
    """
    try:
        return onnx.load_model_from_string(data)
    except _NO_MODEL:
        raise model_file.not_onnx(data, what) from None


def _check(proto: onnx.ModelProto, what: str) -> None:
    graph = proto.graph
    if not proto.HasField("graph") or not (graph.node or graph.output):
        raise InputError(f"{what}: not an ONNX model (it holds no graph); give the path of one")
    if proto.ir_version < 3:
        raise InputError(f"{what}: IR version {proto.ir_version}, at least 3 is needed; {_REMEDY}")
    versions: dict[str, int] = {}
    for entry in proto.opset_import:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        if versions.setdefault(domain, entry.version) != entry.version:
            raise InputError(f"{what}: two versions of opset '{domain or 'ai.onnx'}'; {_REMEDY}")
    missing = {"" if n.domain == "ai.onnx" else n.domain for n in graph.node} - versions.keys()
    if not proto.opset_import or "" in missing:
        raise InputError(f"{what}: no version of opset 'ai.onnx' is given; {_REMEDY}")
    newest = onnx.defs.onnx_opset_version()
    if versions.get("", 1) > newest:
        raise InputError(
            f"{what}: opset {versions['']} is newer than the installed onnx knows ({newest}); "
            "upgrade onnx or convert the model with onnx.version_converter"
        )
    if not graph.output:
        raise InputError(f"{what}: the graph has no output; {_REMEDY}")


def _type_outputs(proto: onnx.ModelProto) -> None:
    """Give outputs that declare no type the one that follows from the nodes.

    The importer computes f16 in f32, so an output's type is not to be read from its value.
    """
    untyped = [port for port in proto.graph.output if port.type.WhichOneof("value") is None]
    if not untyped:
        return
    bare = onnx.ModelProto(
        ir_version=proto.ir_version, opset_import=proto.opset_import, functions=proto.functions
    )
    bare.graph.node.extend(proto.graph.node)
    bare.graph.output.extend(proto.graph.output)
    weights = {w.name: w for w in proto.graph.initializer}
    bare.graph.input.extend(port for port in proto.graph.input if port.name not in weights)
    bare.graph.input.extend(
        onnx.helper.make_tensor_value_info(w.name, w.data_type, w.dims) for w in weights.values()
    )
    found: dict[str, int] = {}
    for name, kind in kinds.found(proto, bare):
        if of_onnx(kind) is not None:  # another one is for its node to refuse
            found.setdefault(name, kind)
    for port in untyped:
        # The dims are the importer's to say.
        if port.name in found:
            port.type.tensor_type.elem_type = found[port.name]


def _check_ports(graph: onnx.GraphProto) -> None:
    weights = {w.name for w in graph.initializer} | {
        w.values.name for w in graph.sparse_initializer
    }
    for port in [p for p in graph.input if p.name not in weights] + list(graph.output):
        kind = port.type.WhichOneof("value")
        if kind not in (None, "tensor_type", "sequence_type", "optional_type"):
            raise UnsupportedError(
                f"'{port.name}' is a {kind.removesuffix('_type')}, only tensors can enter or leave "
                "a compiled model; cut the model at its tensors"
            )
        elem = tensor_type(port.type).elem_type
        if elem and of_onnx(elem) is None:
            raise UnsupportedError(
                f"'{port.name}' is a tensor of {wellformed.type_name(elem)}, which no kernel can "
                "hold; move that part of the model into the application"
            )


def _tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    for graph in graphs(proto.graph):
        yield from graph.initializer
        for node in graph.node:
            for attr in node.attribute:
                if attr.HasField("t"):
                    yield attr.t
                yield from attr.tensors


def _check_no_external(proto: onnx.ModelProto, name: str) -> None:
    for tensor in _tensors(proto):
        if onnx.external_data_helper.uses_external_data(tensor):
            raise InputError(
                f"model '{name}': the data of '{tensor.name}' is in another file; "
                "give the model's path, or load the data with onnx.load"
            )


def _place_external(proto: onnx.ModelProto, path: Path) -> None:
    """Give tensors with data in files absolute places; read the data of small ones."""
    for tensor in _tensors(proto):
        if tensor.data_location != tensor.EXTERNAL or mapped.is_inside(tensor, path.absolute()):
            continue
        try:
            where = _outside(tensor, path.absolute().parent)
        except (OSError, ValueError) as err:
            said = (err.strerror or str(err)) if isinstance(err, OSError) else str(err)
            location = next((e.value for e in tensor.external_data if e.key == "location"), None)
            raise InputError(
                f"'{path}': the data of '{tensor.name}' should be in '{location}', which is missing"
                f" or unfit ({said}); put it beside the model"
            ) from None
        mapped.place(tensor, where)
        if where.length < mapped.LARGE:
            tensor.CopyFrom(mapped.loaded(tensor))


def _outside(tensor: onnx.TensorProto, folder: Path) -> mapped.Place:
    """Where the data of a tensor is, checked.

    Raises
    ------
    OSError, ValueError
        There is no such file in the model's folder, or it is shorter than the tensor.
    """
    info = onnx.external_data_helper.ExternalDataInfo(tensor)
    relative = Path(info.location)
    file = folder / relative
    if not info.location or relative.is_absolute() or ".." in relative.parts:
        raise ValueError("no path inside the model's folder")
    size = file.stat().st_size
    if not file.is_file() or not file.resolve().is_relative_to(folder.resolve()):
        raise ValueError("no file of the model's folder")
    needed = mapped.bytes_needed(tensor)
    offset = info.offset or 0
    length = max(size - offset, 0) if info.length is None else info.length
    if needed is None:
        raise ValueError(f"of {wellformed.type_name(tensor.data_type)}, which files do not hold")
    if length != needed if info.length is not None else length < needed:
        raise ValueError(
            f"{length} bytes from byte {offset} on where dims {list(tensor.dims)} take {needed}"
        )
    if offset + needed > size:
        raise ValueError(f"{size} bytes, and {offset + needed} are needed")
    return mapped.Place(str(file), offset, needed)


def sort(graph: onnx.GraphProto, outer: frozenset[str] = frozenset()) -> None:
    """Order nodes so that each follows what it reads; keep the file's order where it can stay."""
    ready = outer | {p.name for p in graph.input} | {w.name for w in graph.initializer}
    ready |= {w.values.name for w in graph.sparse_initializer}
    nodes = list(graph.node)
    producer: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in producer or name in ready - outer:
                raise InputError(f"{label(node)}: '{name}' is defined twice; {_REMEDY}")
            producer[name] = index
    _check_defined(graph, [(label(n), node_reads(n)) for n in nodes], ready | producer.keys())
    waits = [{producer[n] for n in node_reads(node) if n in producer} for node in nodes]
    users: list[list[int]] = [[] for _ in nodes]
    for index, wait in enumerate(waits):
        for before in wait:
            users[before].append(index)
    heap = [index for index, wait in enumerate(waits) if not wait]
    order: list[int] = []
    while heap:
        index = heapq.heappop(heap)
        order.append(index)
        for user in users[index]:
            waits[user].discard(index)
            if not waits[user]:
                heapq.heappush(heap, user)
    if len(order) < len(nodes):
        stuck = next(i for i in range(len(nodes)) if waits[i])
        raise InputError(f"{label(nodes[stuck])}: the graph has a cycle through it; {_REMEDY}")
    if order != list(range(len(nodes))):
        del graph.node[:]
        graph.node.extend(nodes[i] for i in order)
    visible = ready | producer.keys()
    for node in graph.node:
        for sub in bodies(node):
            sort(sub, visible)


def _check_defined(
    graph: onnx.GraphProto, reads: Iterable[tuple[str, set[str]]], defined: Iterable[str]
) -> None:
    known = set(defined)
    for reader, names in reads:
        for name in sorted(names - known):
            raise InputError(f"{reader}: reads '{name}', which nothing defines; {_REMEDY}")
    for port in graph.output:
        if port.name not in known:
            raise InputError(f"output '{port.name}': nothing defines it; {_REMEDY}")
