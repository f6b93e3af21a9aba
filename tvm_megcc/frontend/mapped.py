"""Weights that stay in their files: a model without its data, and arrays that are maps of it.

Enters: the file of a model. Leaves: a ``ModelProto`` in which each large tensor says which bytes of
which file it is, as tensors with external data do, and `to_array`, which maps them. So a model's
weights are in no memory of ours, whether they stand in the model's file or beside it.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from tvm_megcc.core import wire
from tvm_megcc.core.dtypes import of_onnx

#: Bytes from which on a tensor's data is mapped: what is smaller may be a shape, which ONNX's own
#: tools want to read.
LARGE = 4096

#: Fields of ONNX's messages that hold other messages, down to tensors.
_NODE = "node"
_TENSOR = "tensor"
_INNER: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: _NODE, 5: _TENSOR},
    "function": {7: _NODE},
    _NODE: {5: "attribute"},
    "attribute": {5: _TENSOR, 6: "graph", 10: _TENSOR, 11: "graph"},
}
_DATA_TYPE, _FLOAT_DATA, _RAW_DATA, _DOUBLE_DATA = 2, 4, 9, 10
#: Fields whose packed numbers are the same bytes as raw data, by the type of the tensor.
_PACKED: Mapping[int, int] = {TensorProto.FLOAT: _FLOAT_DATA, TensorProto.DOUBLE: _DOUBLE_DATA}
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14


class Place(NamedTuple):
    """Where the data of a tensor is: a file, the first byte, how many there are."""

    path: str
    offset: int
    length: int


def parse(data: wire.Bytes, path: str | os.PathLike[str]) -> onnx.ModelProto:
    """The model in a file, without the data of its large tensors.

    Parameters
    ----------
    data : mmap or bytes
        The whole file.
    path : path
        Where it is, absolutely.

    Raises
    ------
    tvm_megcc.core.wire.DamagedError, google.protobuf.message.DecodeError
        It is no model.
    """
    pieces = _without_data("model", data, 0, len(data), os.fspath(path))
    return onnx.load_model_from_string(b"".join(pieces))


def _without_data(kind: str, data: wire.Bytes, start: int, end: int, path: str) -> Iterator[bytes]:
    """The bytes of a message without the data of its large tensors."""
    if kind == _TENSOR:
        yield from _tensor(data, start, end, path)
        return
    inner = _INNER[kind]
    for field in wire.fields(data, start, end):
        if field.value >= LARGE and field.has_bytes and field.number in inner:
            found = _without_data(inner[field.number], data, field.start, field.end, path)
            yield wire.message(field.number, b"".join(found))
        else:
            yield bytes(data[field.begin : field.end])


def _tensor(data: wire.Bytes, start: int, end: int, path: str) -> Iterator[bytes]:
    fields = list(wire.fields(data, start, end))
    kind = next((f.value for f in fields if f.number == _DATA_TYPE), 0)
    holders = (_RAW_DATA, _PACKED.get(kind))
    large = [f for f in fields if f.number in holders and f.has_bytes and f.value >= LARGE]
    same = [f for f in fields if large and f.number == large[0].number]
    has_place = any(f.number in (_EXTERNAL_DATA, _DATA_LOCATION) for f in fields)
    moved = large[0] if len(same) == 1 and not has_place else None
    for field in fields:
        if field is not moved:
            yield bytes(data[field.begin : field.end])
    if moved is not None:
        tensor = TensorProto()
        place(tensor, Place(path, moved.start, moved.value))
        yield tensor.SerializeToString()


def place(tensor: TensorProto, where: Place) -> None:
    """Let a tensor say where its data is."""
    del tensor.external_data[:]
    tensor.data_location = TensorProto.EXTERNAL
    # A path may be no text, as protobuf wants it.
    found = quote_from_bytes(os.fsencode(where.path)), str(where.offset), str(where.length)
    for key, value in zip(("location", "offset", "length"), found, strict=True):
        tensor.external_data.add(key=key, value=value)


def place_of(tensor: TensorProto) -> Place | None:
    """Where the data of a tensor is, None for one that has it.

    Raises
    ------
    KeyError, ValueError
        It is in a file, but `place` has not said where.
    """
    if tensor.data_location != TensorProto.EXTERNAL:
        return None
    found = {entry.key: entry.value for entry in tensor.external_data}
    path = os.fsdecode(unquote_to_bytes(found["location"]))
    return Place(path, int(found["offset"]), int(found["length"]))


def is_inside(tensor: TensorProto, path: Path) -> bool:
    """Whether the data of a tensor whose data is in a file is in this one, and within its size."""
    try:
        where = place_of(tensor)
    except (KeyError, ValueError):
        return False
    if where is None or where.path != os.fspath(path):
        return False
    return 0 <= where.offset <= where.offset + where.length <= path.stat().st_size


def bytes_needed(tensor: TensorProto) -> int | None:
    """Bytes of a tensor's data by its dims and type; None for a type that is no number."""
    row = of_onnx(tensor.data_type)
    return None if row is None else -(-prod(tensor.dims) * row.bits // 8)


def to_array(tensor: TensorProto) -> npt.NDArray[Any]:
    """A tensor's values; data in a file is mapped, which takes no memory."""
    where = place_of(tensor)
    if where is None:
        return numpy_helper.to_array(tensor)
    row = of_onnx(tensor.data_type)
    if row is None or row.is_packed:
        return numpy_helper.to_array(loaded(tensor))
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.data_type))
    return np.ndarray(tuple(tensor.dims), dtype, _file(where.path), where.offset)


def loaded(tensor: TensorProto) -> TensorProto:
    """A copy of a tensor that has its data."""
    where = place_of(tensor)
    made = TensorProto()
    made.CopyFrom(tensor)
    if where is not None:
        made.ClearField("data_location")
        del made.external_data[:]
        made.raw_data = _file(where.path)[where.offset : where.offset + where.length]
    return made


def _file(path: str) -> mmap.mmap:
    state = os.stat(path)
    return _mapped(path, state.st_ino, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=8)
def _mapped(path: str, *state: int) -> mmap.mmap:
    """A private map of a file in this state: TVM takes no arrays that can only be read."""
    with Path(path).open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
