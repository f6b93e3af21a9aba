"""C spellings of TIR's scalar types and constants."""

from __future__ import annotations

import math

import numpy as np

from tvm_megcc.core.dtypes import DTYPES, DType, of_numpy
from tvm_megcc.errors import UnsupportedError

HALF = ("float16", "bfloat16")


def _row(dtype: str) -> DType:
    row = of_numpy(dtype)
    if row is None or row.is_storage:
        known = ", ".join(r.numpy for r in DTYPES if not r.is_storage)
        raise UnsupportedError(
            f"dtype {dtype} has no C type in generated kernels; cast to one of {known} in the model"
        )
    return row


def storage_type(dtype: str) -> str:
    """C type of one element in memory."""
    return _row(dtype).memory


def value_type(dtype: str) -> str:
    """C type of a value while it is computed with (16-bit floats are ``float``)."""
    return _row(dtype).value


def nbytes(dtype: str) -> int:
    return _row(dtype).bits // 8


def is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def is_signed(dtype: str) -> bool:
    return dtype.startswith("int")


def bits(dtype: str) -> int:
    return 1 if dtype == "bool" else nbytes(dtype) * 8


def short(dtype: str) -> str:
    """Suffix of the helpers in ``megcc_math.h``: ``i32``, ``u8``, ``f64``."""
    return _row(dtype).name


def int_literal(value: int, dtype: str) -> str:
    """An integer constant of exactly this type, usable in any expression."""
    if dtype == "bool":
        return "1" if value else "0"
    if dtype == "int64":
        if value == -(2**63):
            return "(-INT64_C(9223372036854775807) - 1)"
        return f"INT64_C({value})" if value >= 0 else f"(-INT64_C({-value}))"
    if dtype == "uint64":
        return f"UINT64_C({value % 2**64})"
    if dtype == "uint32":
        return f"{value % 2**32}u"
    if value == -(2**31):
        return "(-2147483647 - 1)"
    return str(value) if value >= 0 else f"({value})"


def float_literal(value: float, dtype: str) -> str:
    """The shortest decimal constant that reads back as `value` rounded to `dtype`."""
    suffix = "" if dtype == "float64" else "f"
    if math.isnan(value):
        return "MEGCC_NAN" if dtype == "float64" else "MEGCC_NANF"
    with np.errstate(over="ignore"):
        if dtype == "float16":
            value = float(np.float16(value))
        if dtype != "float64":
            value = float(np.float32(value))
    if math.isinf(value):
        name = "MEGCC_INF" if dtype == "float64" else "MEGCC_INFF"
        return name if value > 0 else f"(-{name})"
    text = repr(value) if dtype == "float64" else str(np.float32(value))
    if "." not in text and "e" not in text:
        text += ".0"
    return f"({text}{suffix})" if math.copysign(1.0, value) < 0 else f"{text}{suffix}"
