"""cast: between f32 and every type, and among integers."""

from __future__ import annotations

import numpy as np

TYPES = {
    "f32": np.float32, "bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16,
    "u16": np.uint16, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64,
}  # fmt: skip
_INTEGERS, _OTHERS = ("i8", "u8", "i32", "i64"), ("u8", "i32", "i64", "bool")
CASES = [
    *({"dtype": "f32", "to": to, "size": 77} for to in TYPES),
    *({"dtype": dtype, "to": "f32", "size": 77} for dtype in TYPES),
    *({"dtype": a, "to": b, "size": 77} for a, b in zip(_INTEGERS, _OTHERS, strict=True)),
    {"dtype": "i32", "to": "u8", "size": 77},
    {"dtype": "u8", "to": "i64", "size": 77},
    {"dtype": "bool", "to": "i64", "size": 0},
    {"dtype": "bool", "to": "i32", "size": 5},
]


def operands(f, rng):
    dtype = TYPES[f["dtype"]]
    if dtype == np.bool_:
        return [rng.integers(0, 2, f["size"]).astype(dtype)]
    if dtype == np.float32:
        x = (rng.standard_normal(f["size"]) * rng.choice([0, 1, 100], f["size"])).astype(dtype)
        x[:7] = [np.nan, np.inf, -np.inf, 3e9, -3e9, 1e19, -0.0]
        return [x]
    info = np.iinfo(dtype)
    return [rng.integers(info.min, info.max, f["size"], dtype, endpoint=True)]


def _to_integer(x, to):
    """Truncate, saturate at the limits of the 32- or 64-bit type in between, wrap."""
    wide = {"i64": np.int64, "u32": np.int64, "u64": np.uint64}.get(to, np.int32)
    info = np.iinfo(wide)
    low = np.iinfo(np.int64).min if to == "u64" else info.min
    top = np.nextafter(np.float32(info.max) + np.float32(1), np.float32(0))
    x = np.where(np.isnan(x), low, np.clip(np.trunc(x.astype(np.float64)), low, float(top)))
    exact = np.array([int(v) & (2**64 - 1) for v in x], np.uint64)
    return exact.astype(TYPES[to])


def reference(f, inputs):
    (x,) = inputs
    if f["to"] == "bool":
        return [x != 0]
    if f["dtype"] == "f32" and f["to"] != "f32":
        return [_to_integer(x, f["to"])]
    return [x.astype(TYPES[f["to"]])]
