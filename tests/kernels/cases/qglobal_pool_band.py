"""qglobal_pool_band: images in bands of pixels, each on the sums of those before; to the bit."""

from __future__ import annotations

import numpy as np
from cases.qconv2d import TYPES, integers

from tvm_megcc.kernels.contract import codes

AVG, SUM = (codes("qpool2d")[name] for name in ("AVG", "SUM"))
_BANDS = [
    # pixels, those before, all, channels
    (5, 0, 5, 1), (7, 31, 38, 3), (7, 0, 49, 70), (14, 35, 49, 64), (0, 40, 50, 5),
    (33, 1, 99, 129), (64, 64, 16384, 17), (3, 20000, 30000, 9),
]  # fmt: skip
_WAYS = [
    {"x": "i8", "y": "i8"}, {"x": "u8", "y": "u8", "scale": 1.0}, {"x": "i8", "y": "u8", "relu": 1},
    {"x": "u8", "y": "i8", "offset": 25.0}, {"x": "i8", "y": "i8", "scale": 1.0, "offset": -7.0},
]  # fmt: skip
CASES = [
    {"hw": hw, "first": first, "total": total, "c": c, "func": func, **_WAYS[(k + func) % 5]}
    for func in (AVG, SUM)
    for k, (hw, first, total, c) in enumerate(_BANDS)
]


def facts(row):
    f = {"x": "i8", "y": "i8", "offset": 0.0, **row}
    ends, held = np.iinfo(TYPES[f["y"]]), np.iinfo(TYPES[f["x"]])
    y_zero = 0 if f["offset"] else int(ends.min) + 100
    scale = f.get("scale", 0.77 if f["func"] == AVG else 0.77 / f["total"])
    return {
        **f, "x_zero": int(held.min) + 121, "y_zero": y_zero,
        "low": y_zero if f.get("relu") else int(ends.min), "high": int(ends.max),
        "scale": float(np.float32(scale)), "offset": float(np.float32(f["offset"])),
    }  # fmt: skip


def operands(f, rng):
    before = integers(rng, (f["first"], f["c"]), f["x"]).astype(np.int64) - f["x_zero"]
    return [integers(rng, (f["hw"], f["c"]), f["x"]), before.sum(0).astype(np.int32)]


def reference(f, inputs):
    after = inputs[0].astype(np.int64).sum(0) - f["hw"] * f["x_zero"]
    after += inputs[1] if f["first"] else 0
    v = after.astype(np.float32)
    if f["func"] == AVG:
        v = v / np.float32(f["total"])
    v = v * np.float32(f["scale"]) + np.float32(f["offset"])
    y = np.clip(np.rint(v).astype(np.float64) + f["y_zero"], f["low"], f["high"])
    return [after.astype(np.int32), y.astype(TYPES[f["y"]])]
