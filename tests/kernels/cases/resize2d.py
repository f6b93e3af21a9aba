"""resize2d: every coordinate and rounding rule of ONNX Resize, in both layouts."""

from __future__ import annotations

import numpy as np

from tvm_megcc.core.dtypes import numpy_dtype
from tvm_megcc.kernels.contract import codes

_CODES = codes("resize2d")
NEAREST, LINEAR = (_CODES[name] for name in ("NEAREST", "LINEAR"))
HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC, PYTORCH_HALF_PIXEL = COORDINATES = [
    _CODES[name] for name in ("HALF_PIXEL", "ALIGN_CORNERS", "ASYMMETRIC", "PYTORCH_HALF_PIXEL")
]
FLOOR, CEIL, PREFER_FLOOR, PREFER_CEIL = ROUNDING = [
    _CODES[name] for name in ("FLOOR", "CEIL", "PREFER_FLOOR", "PREFER_CEIL")
]

_GRIDS = [(3, 4, 6, 8), (7, 5, 3, 9), (5, 6, 1, 1), (1, 1, 4, 3), (4, 4, 4, 4), (6, 10, 9, 4)]
CASES = [
    *(
        {"grid": g, "c": 5, "mode": NEAREST, "coord": coord, "round": round_, "nchw": nchw}
        for g in _GRIDS
        for coord in COORDINATES
        for round_ in ROUNDING
        for nchw in (0, 1)
    ),
    *(
        {"grid": g, "c": 5, "n": 2, "mode": LINEAR, "coord": coord, "nchw": nchw}
        for g in _GRIDS
        for coord in COORDINATES
        for nchw in (0, 1)
    ),
    *({"grid": (3, 4, 5, 7), "c": c, "mode": LINEAR} for c in (1, 3, 4, 8, 15, 16, 17, 33)),
    *({"grid": (3, w, 5, 6), "c": 1, "mode": LINEAR, "nchw": 1} for w in (3, 4, 8, 15, 17, 33)),
    *({"grid": (3, 4, 5, 7), "c": 2, "mode": m, "scale_h": 1.9, "scale_w": 1.8} for m in (0, 1)),
    *({"grid": (3, 4, 5, 7), "c": 2, "n": 0, "mode": m, "nchw": k} for m in (0, 1) for k in (0, 1)),
    {"grid": (40, 30, 80, 60), "c": 24, "mode": LINEAR},
]
# Whose elements only move: of bytes, too.
CASES += [{**row, "dtype": d} for row in CASES[::5] if row["mode"] == NEAREST for d in ("i8", "u8")]
HALVES = [row for row in CASES if "dtype" not in row][::3]


def facts(row):
    h, w, oh, ow = row.pop("grid")
    defaults = {
        "n": 1,
        "dtype": "f32",
        "coord": HALF_PIXEL,
        "round": FLOOR,
        "nchw": 0,
        "scale_h": 0.0,
        "scale_w": 0.0,
    }
    return {**defaults, **row, "h": h, "w": w, "oh": oh, "ow": ow}


def operands(f, rng):
    shape = (f["n"], f["c"], f["h"], f["w"]) if f["nchw"] else (f["n"], f["h"], f["w"], f["c"])
    if f["dtype"] != "f32":
        info = np.iinfo(numpy_dtype(f["dtype"]))
        return [rng.integers(info.min, info.max, shape, info.dtype, endpoint=True)]
    return [rng.standard_normal(shape).astype(np.float32)]


def sources(size, out, scale, coord):
    """Input coordinates in float32, operation by operation as ONNX Runtime has them."""
    one = np.float32
    o, scale = np.arange(out, dtype=one), one(scale or one(out) / one(size))
    if coord == ALIGN_CORNERS:
        return o * one(size - 1) / one(max(out - 1, 1))
    if coord == ASYMMETRIC:
        return o / scale
    if coord == PYTORCH_HALF_PIXEL and out == 1:
        return np.zeros(1, one)
    return (o + one(0.5)) / scale - one(0.5)


def _nearest(s, size, rule):
    ties_down, ties_up = np.ceil(s - 0.5), np.floor(s + 0.5)
    table = {FLOOR: np.floor(s), CEIL: np.ceil(s), PREFER_FLOOR: ties_down, PREFER_CEIL: ties_up}
    return np.clip(table[rule], 0, size - 1).astype(int)


def _linear(x, axis, s):
    s = np.clip(s, 0, x.shape[axis] - 1)
    lo = np.floor(s).astype(int)
    hi = np.minimum(lo + 1, x.shape[axis] - 1)
    shape = [-1 if i == axis else 1 for i in range(4)]
    weight = (s - lo).reshape(shape)
    return x.take(lo, axis) * (1 - weight) + x.take(hi, axis) * weight


def reference(f, inputs):
    x = inputs[0].astype(np.float64)
    for axis, size, out, scale in ((1, "h", "oh", "scale_h"), (2, "w", "ow", "scale_w")):
        s = sources(f[size], f[out], f[scale], f["coord"])
        axis += f["nchw"]
        if f["mode"] == LINEAR:
            x = _linear(x, axis, s.astype(np.float64))
        else:
            x = x.take(_nearest(s, f[size], f["round"]), axis)
    return [x.astype(inputs[0].dtype)]
