"""The three spellings of an element type: ONNX's number, TVM's string, ours."""

from __future__ import annotations

from onnx import TensorProto

#: ONNX elem_type -> (TVM dtype, tvm_megcc dtype). What is not listed no tensor can have.
_TYPES: dict[int, tuple[str, str]] = {
    TensorProto.FLOAT: ("float32", "f32"),
    TensorProto.DOUBLE: ("float64", "f64"),
    TensorProto.FLOAT16: ("float16", "f16"),
    TensorProto.BFLOAT16: ("bfloat16", "bf16"),
    TensorProto.BOOL: ("bool", "bool"),
    TensorProto.INT8: ("int8", "i8"),
    TensorProto.UINT8: ("uint8", "u8"),
    TensorProto.INT16: ("int16", "i16"),
    TensorProto.UINT16: ("uint16", "u16"),
    TensorProto.INT32: ("int32", "i32"),
    TensorProto.UINT32: ("uint32", "u32"),
    TensorProto.INT64: ("int64", "i64"),
    TensorProto.UINT64: ("uint64", "u64"),
}

_SHORT = dict(_TYPES.values())
_NUMBERS = {tvm: number for number, (tvm, _) in _TYPES.items()}


def tvm_dtype(elem_type: int) -> str | None:
    """TVM's name of an ONNX element type, None when tvm_megcc has no such type."""
    entry = _TYPES.get(elem_type)
    return entry[0] if entry else None


def elem_type(dtype: str) -> int:
    """ONNX's number of a TVM dtype."""
    return _NUMBERS[dtype]


def short_dtype(dtype: str) -> str:
    """Our name of a TVM dtype (``float32`` -> ``f32``)."""
    return _SHORT[dtype]


def is_supported(dtype: str) -> bool:
    """Whether a TVM dtype is one of ours."""
    return dtype in _SHORT
