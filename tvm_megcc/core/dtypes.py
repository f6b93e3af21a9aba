"""The element types: one row each, with every name that anybody gives it.

A type is called by its short name (``"f32"``) in programs, manifests and C. *Storage* types hold
values that nothing computes with: 8- and 4-bit floats, 4- and 2-bit integers. Inside a model a
value of such a type is bytes, one per element, of the type `DType.held`; operators that compute
convert them. At a port it is what ONNX's TensorProto has: 4- and 2-bit elements are packed, the
first in the lowest bits.

Example
-------
>>> of("i4").numpy, of("i4").held, nbytes("i4", 5)
('int4', 'i8', 3)
>>> of_numpy("float32").name, of_onnx(16).name
('f32', 'bf16')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tvm_megcc.dims import Size, ceildiv

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class DType:
    """One element type.

    Attributes
    ----------
    name : str
        Ours.
    onnx : int
        ``TensorProto.DataType``.
    numpy : str
        What NumPy, or ``ml_dtypes``, and TVM call it.
    bits : int
        Of one element at a port.
    held : str
        Name of the type as which its values are held inside a model: its own unless it is a storage
        type.
    memory, value : str
        C types of an element in memory and of a value in an expression.
    """

    name: str
    onnx: int
    numpy: str
    bits: int
    held: str
    memory: str
    value: str

    @property
    def is_storage(self) -> bool:
        return self.held != self.name

    @property
    def is_numpys_own(self) -> bool:
        """Whether NumPy has it by itself; else ``ml_dtypes`` does, and ``.npy`` files do not."""
        return self.name != "bf16" and not self.is_storage

    @property
    def held_numpy(self) -> str:
        """NumPy's and TVM's name of the type as which its values are held."""
        return of(self.held).numpy

    @property
    def is_packed(self) -> bool:
        """Whether several elements share a byte at a port."""
        return self.bits < 8

    @property
    def is_float(self) -> bool:
        return "float" in self.numpy


def _plain(name: str, onnx: int, numpy: str, bits: int, memory: str, value: str = "") -> DType:
    return DType(name, onnx, numpy, bits, name, memory, value or memory)


def _storage(name: str, onnx: int, numpy: str, bits: int, held: str) -> DType:
    memory = {"u8": "uint8_t", "i8": "int8_t"}[held]
    return DType(name, onnx, numpy, bits, held, memory, memory)


#: A type's position is its code in model images and in C, ``megcc_dtype_t``: rows are only added at
#: the end. The runtime knows the packed types by their codes, 4-bit ones before 2-bit ones.
DTYPES = (
    _plain("f32", 1, "float32", 32, "float"),
    _plain("f64", 11, "float64", 64, "double"),
    _plain("f16", 10, "float16", 16, "uint16_t", "float"),
    _plain("bf16", 16, "bfloat16", 16, "uint16_t", "float"),
    _plain("bool", 9, "bool", 8, "uint8_t", "int"),
    _plain("i8", 3, "int8", 8, "int8_t"),
    _plain("u8", 2, "uint8", 8, "uint8_t"),
    _plain("i16", 5, "int16", 16, "int16_t"),
    _plain("u16", 4, "uint16", 16, "uint16_t"),
    _plain("i32", 6, "int32", 32, "int32_t"),
    _plain("u32", 12, "uint32", 32, "uint32_t"),
    _plain("i64", 7, "int64", 64, "int64_t"),
    _plain("u64", 13, "uint64", 64, "uint64_t"),
    _storage("f8e4m3fn", 17, "float8_e4m3fn", 8, "u8"),
    _storage("f8e4m3fnuz", 18, "float8_e4m3fnuz", 8, "u8"),
    _storage("f8e5m2", 19, "float8_e5m2", 8, "u8"),
    _storage("f8e5m2fnuz", 20, "float8_e5m2fnuz", 8, "u8"),
    _storage("f8e8m0", 24, "float8_e8m0fnu", 8, "u8"),
    _storage("f4e2m1", 23, "float4_e2m1fn", 4, "u8"),
    _storage("i4", 22, "int4", 4, "i8"),
    _storage("u4", 21, "uint4", 4, "u8"),
    _storage("i2", 26, "int2", 2, "i8"),
    _storage("u2", 25, "uint2", 2, "u8"),
)

_BY_NAME = {row.name: row for row in DTYPES}
_BY_NUMPY = {row.numpy: row for row in DTYPES}
_BY_ONNX = {row.onnx: row for row in DTYPES}
_CODES = {row.name: code for code, row in enumerate(DTYPES)}


#: The element types of quantised tensors.
EIGHT_BITS = ("i8", "u8")


def of(name: str) -> DType:
    """The type of our name."""
    return _BY_NAME[name]


def of_numpy(name: str) -> DType | None:
    """The type that NumPy and TVM call so, None where we have no such type."""
    return _BY_NUMPY.get(name)


def of_onnx(elem_type: int) -> DType | None:
    """The type of an ONNX tensor, None where we have no such type."""
    return _BY_ONNX.get(elem_type)


def code(name: str) -> int:
    """The number of a type in images and in C."""
    return _CODES[name]


def nbytes(name: str, count: Size) -> Size:
    """Bytes of so many elements at a port; inside, only types of whole bytes occur."""
    bits = of(name).bits
    return count * (bits // 8) if bits >= 8 else ceildiv(count * bits, 8)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of one of ours; those that NumPy lacks are those of ``ml_dtypes``."""
    import numpy as np

    row = of(name)
    if not row.is_numpys_own:
        import ml_dtypes

        made: np.dtype[Any] = np.dtype(getattr(ml_dtypes, row.numpy))
        return made
    return np.dtype(row.numpy)


def packed(array: np.ndarray[Any, Any], name: str) -> bytes:
    """Bytes of an array as a port of type `name` holds them; types below 8 bits share bytes."""
    import numpy as np

    row = of(name)
    if not row.is_packed:
        return array.tobytes()
    each = 8 // row.bits
    values = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & (2**row.bits - 1)
    values = np.concatenate([values, np.zeros(-len(values) % each, np.uint8)]).reshape(-1, each)
    shifts = np.arange(each, dtype=np.uint8) * row.bits
    joined: np.ndarray[Any, Any] = np.bitwise_or.reduce(values << shifts, axis=1)
    return joined.astype(np.uint8).tobytes()


def unpacked(data: bytes, name: str, count: int) -> np.ndarray[Any, Any]:
    """The elements, as `numpy_dtype`, of the bytes of a port."""
    import numpy as np

    row, dtype = of(name), numpy_dtype(name)
    if not row.is_packed:
        return np.frombuffer(data, dtype, count).copy()
    shifts = np.arange(8 // row.bits, dtype=np.uint8) * row.bits
    codes = np.frombuffer(data, np.uint8)[:, None] >> shifts & (2**row.bits - 1)
    held: np.ndarray[Any, Any] = codes.reshape(-1)[:count].astype(np.uint8)
    if row.is_float:
        return held.view(dtype)
    if row.held == "i8":
        held = (held << (8 - row.bits)).view(np.int8) >> (8 - row.bits)
    return held.astype(dtype)


def packed_rows(array: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    """``[..., K]`` numbers as ``u8[..., bytes]``: each row of a packed type begins with a byte."""
    import numpy as np

    each = 8 // of(name).bits
    full = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, -array.shape[-1] % each)])
    return np.frombuffer(packed(full, name), np.uint8).reshape(*array.shape[:-1], -1)


def unpacked_rows(rows: np.ndarray[Any, Any], name: str, length: int) -> np.ndarray[Any, Any]:
    """`packed_rows`, back: the numbers ``[..., length]`` as a type of 8 bits holds them."""
    row = of(name)
    count = rows.size * (8 // row.bits)
    numbers = unpacked(rows.tobytes(), name, count).astype(numpy_dtype(row.held))
    return numbers.reshape(*rows.shape[:-1], -1)[..., :length]
