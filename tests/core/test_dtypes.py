"""The table of dtypes: names that belong together, and packing as in TensorProto."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm_megcc.core import dtypes
from tvm_megcc.host import arrays
from tvm_megcc.host.package import Port

#: What the image format has had from the start: these numbers never change.
FIRST = "f32 f64 f16 bf16 bool i8 u8 i16 u16 i32 u32 i64 u64".split()
ROWS = pytest.mark.parametrize("row", dtypes.DTYPES, ids=[row.name for row in dtypes.DTYPES])


def test_codes_are_positions_and_stay():
    assert [row.name for row in dtypes.DTYPES[: len(FIRST)]] == FIRST
    assert [dtypes.code(row.name) for row in dtypes.DTYPES] == list(range(len(dtypes.DTYPES)))


def test_packed_types_come_last_and_the_narrowest_at_the_end():
    """The runtime tells by the code how many elements are in a byte."""
    widths = [min(row.bits, 8) for row in dtypes.DTYPES]
    assert widths == sorted(widths, reverse=True)


@ROWS
def test_names_are_onnx_and_numpy_names(row):
    assert helper.tensor_dtype_to_np_dtype(row.onnx) == dtypes.numpy_dtype(row.name)
    assert str(dtypes.numpy_dtype(row.name)) == row.numpy
    assert dtypes.of_numpy(row.numpy) is dtypes.of_onnx(row.onnx) is dtypes.of(row.name) is row
    assert dtypes.of(row.held).bits == max(row.bits, 8) and not dtypes.of(row.held).is_storage


def test_only_strings_and_complex_and_6_bit_floats_are_no_types_of_ours():
    missing = {n for n, v in TensorProto.DataType.items() if v and dtypes.of_onnx(v) is None}
    assert missing <= {"STRING", "COMPLEX64", "COMPLEX128", "FLOAT6E2M3", "FLOAT6E3M2"}


@ROWS
@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 16])
def test_bytes_of_a_port_are_those_of_tensor_proto(row, count):
    numbers = np.arange(count) % 4 - (2 if row.held == "i8" else 0)
    if row.bits == 2:
        numbers = numbers % 2
    array = numbers.astype(dtypes.numpy_dtype(row.name))
    data = dtypes.packed(array, row.name)
    assert data == numpy_helper.from_array(array).raw_data
    assert len(data) == dtypes.nbytes(row.name, count)
    back = dtypes.unpacked(data, row.name, count)
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back.astype(np.float32), array.astype(np.float32))


@ROWS
def test_a_file_of_arrays_holds_it(row, tmp_path):
    """Of a type that NumPy lacks a file has the bytes; the model's port says what they are."""
    array = np.array([[0, 1, 1]]).astype(dtypes.numpy_dtype(row.name))
    arrays.write_npz({"x": array}, tmp_path / "in.npz")
    read = arrays.read_npz(tmp_path / "in.npz")
    (found,) = arrays.check([Port("x", row.name, (1, 3))], read, "in.npz").values()
    assert found.dtype == array.dtype and found.tobytes() == array.tobytes()
