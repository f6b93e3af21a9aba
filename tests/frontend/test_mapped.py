"""Weights of a file that are mapped: the values are those that onnx reads, in no memory of ours."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tvm.ir import GenericConst

from tvm_megcc.core import wire
from tvm_megcc.errors import InputError
from tvm_megcc.frontend import from_onnx, mapped
from tvm_megcc.frontend.load import load
from tvm_megcc.relax_tools.exprs import array_of, expressions, unaligned_constants

TYPES = (
    "FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE", "INT8", "UINT8", "INT32", "INT64", "BOOL", "INT4",
    "FLOAT8E4M3FN",
)  # fmt: skip


def _array(kind: int, size: int = 5000) -> np.ndarray:
    values = np.random.default_rng(kind).integers(0, 2, (size // 50, 50))
    return values.astype(helper.tensor_dtype_to_np_dtype(kind))


def _model(
    weights: list[onnx.TensorProto], nodes: list[onnx.NodeProto] | None = None
) -> onnx.ModelProto:
    """A model with these weights, of which nothing but the first is used."""
    made = nodes or [helper.make_node("Identity", [weights[0].name], ["y"])]
    graph = helper.make_graph(made, "g", [], [onnx.ValueInfoProto(name="y")], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _saved(model: onnx.ModelProto, path: Path, external: bool) -> Path:
    onnx.save_model(model, path, save_as_external_data=external, location="w.bin", size_threshold=0)
    return path


@pytest.mark.parametrize("external", [False, True], ids=["embedded", "external"])
@pytest.mark.parametrize("name", TYPES)
def test_every_type_is_read_as_onnx_reads_it(tmp_path: Path, name: str, external: bool) -> None:
    kind = TensorProto.DataType.Value(name)
    wanted = _array(kind, 20000)
    # A weight of one byte in front, so that the other begins anywhere.
    weights = [
        numpy_helper.from_array(np.ones(1, np.int8), "first"),
        numpy_helper.from_array(wanted, "w"),
    ]
    path = _saved(_model(weights), tmp_path / "m.onnx", external)
    proto, _ = load(path, keep_data=False)
    tensor = proto.graph.initializer[1]
    where = mapped.place_of(tensor)
    assert where is not None and not tensor.raw_data
    assert where.path == str(tmp_path / ("w.bin" if external else "m.onnx"))
    found = mapped.to_array(tensor)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.view(np.uint8), wanted.view(np.uint8))
    whole, _ = load(path)
    assert whole.graph.initializer[1].raw_data == weights[1].raw_data


def _float_data(array: np.ndarray) -> onnx.TensorProto:
    return helper.make_tensor("w", TensorProto.FLOAT, array.shape, array.reshape(-1))


def _in_a_constant(array: np.ndarray) -> onnx.ModelProto:
    value = numpy_helper.from_array(array, "w")
    return _model([], [helper.make_node("Constant", [], ["y"], value=value)])


def _in_a_branch(array: np.ndarray) -> onnx.ModelProto:
    weight = numpy_helper.from_array(array, "w")
    body = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["r"])], "b", [], [onnx.ValueInfoProto(name="r")],
        [weight],
    )  # fmt: skip
    condition = numpy_helper.from_array(np.array(True), "c")
    node = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
    return _model([condition], [node])


PLACES: dict[str, Callable[[np.ndarray], onnx.ModelProto]] = {
    "raw data": lambda a: _model([numpy_helper.from_array(a, "w")]),
    "packed floats": lambda a: _model([_float_data(a)]),
    "a Constant": _in_a_constant,
    "a branch": _in_a_branch,
}


@pytest.mark.parametrize("place", PLACES)
def test_weights_stay_in_the_file_wherever_they_stand(tmp_path: Path, place: str) -> None:
    array = _array(TensorProto.FLOAT, 100_000)
    model = PLACES[place](array)
    path = _saved(model, tmp_path / "m.onnx", external=False)
    proto, _ = load(path, keep_data=False)
    assert proto.ByteSize() < 2000 < array.nbytes < path.stat().st_size
    with unaligned_constants():
        imported = from_onnx(path)
    (found,) = {
        array_of(expr).ctypes.data: array_of(expr)
        for _, func in imported.mod.functions_items()
        for expr in expressions(func)
        if isinstance(expr, GenericConst) and tuple(expr.value.shape) == array.shape
    }.values()
    np.testing.assert_array_equal(found, array)
    maps = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    ends = [tuple(int(x, 16) for x in row[0].split("-")) for row in maps if row[-1] == str(path)]
    assert any(begin <= found.ctypes.data < end for begin, end in ends)


def test_constants_for_tvm_are_aligned(tmp_path: Path) -> None:
    array = _array(TensorProto.FLOAT, 100_000)
    path = _saved(PLACES["raw data"](array), tmp_path / "m.onnx", external=False)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        assert data.find(array.tobytes()) % 64  # where it stands it is not
    found = expressions(from_onnx(path).mod["main"])
    constants = [array_of(expr) for expr in found if isinstance(expr, GenericConst)]
    assert constants and all(c.ctypes.data % 64 == 0 for c in constants)


def test_a_model_that_was_split_into_many_fields_is_read(tmp_path: Path) -> None:
    """Protobuf merges the fields of one message: writers may append weights like that."""
    array = _array(TensorProto.FLOAT, 20_000)
    model = _model([numpy_helper.from_array(array, "w")])
    tensor = model.graph.initializer[0].SerializeToString()
    del model.graph.initializer[:]
    data = model.SerializeToString() + wire.message(7, wire.message(5, tensor))
    (tmp_path / "m.onnx").write_bytes(data)
    proto, _ = load(tmp_path / "m.onnx", keep_data=False)
    np.testing.assert_array_equal(mapped.to_array(proto.graph.initializer[0]), array)


def _external(tensor: onnx.TensorProto, **keys: str) -> None:
    del tensor.external_data[:]
    for key, value in keys.items():
        tensor.external_data.add(key=key, value=value)


UNFIT: dict[str, dict[str, str]] = {
    "No such file": {"location": "nosuch.bin"},
    "no path inside the model's folder": {"location": "../w.bin"},
    "0 bytes from byte 0 on": {"location": "w.bin", "offset": "0", "length": "0"},
    "8 bytes from byte 4 on": {"location": "w.bin", "offset": "4", "length": "8"},
    "are needed": {"location": "w.bin", "offset": "1000000", "length": "20000"},
    "no file of": {"location": "."},
    "invalid literal": {"location": "w.bin", "offset": "x"},
    "must be non-negative": {"location": "w.bin", "offset": "-1"},
}


@pytest.mark.parametrize("said", UNFIT)
def test_external_data_that_does_not_fit_is_one_sentence(tmp_path: Path, said: str) -> None:
    model = _model([numpy_helper.from_array(_array(TensorProto.FLOAT), "w")])
    path = _saved(model, tmp_path / "m.onnx", external=True)
    proto = onnx.load(path, load_external_data=False)
    _external(proto.graph.initializer[0], **UNFIT[said])
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(InputError, match=said) as error:
        from_onnx(path)
    assert "'w'" in str(error.value) and "beside the model" in str(error.value)


def test_data_of_another_file_is_not_taken_for_the_models_own(tmp_path: Path) -> None:
    """A file may say what we write into models that we have read; it is checked all the same."""
    model = _model([numpy_helper.from_array(_array(TensorProto.FLOAT), "w")])
    path = _saved(model, tmp_path / "m.onnx", external=True)
    proto = onnx.load(path, load_external_data=False)
    for location, offset in ((str(tmp_path / "w.bin"), "0"), (str(path), "1000000000")):
        _external(proto.graph.initializer[0], location=location, offset=offset, length="20000")
        path.write_bytes(proto.SerializeToString())
        with pytest.raises(InputError, match="no path inside the model's folder"):
            from_onnx(path)
