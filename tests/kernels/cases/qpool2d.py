"""qpool2d: windows of every shape and pair of types, halves, large windows, limits, to the bit."""

from __future__ import annotations

import numpy as np
from cases import pool2d
from cases.qconv2d import TYPES, integers

from tvm_megcc.kernels.contract import codes

AVG, SUM = (codes("qpool2d")[name] for name in ("AVG", "SUM"))
_WAYS = [
    {"x": "i8", "y": "i8"}, {"x": "u8", "y": "u8", "scale": 1.0}, {"x": "i8", "y": "u8", "relu": 1},
    {"x": "u8", "y": "i8", "offset": 25.0}, {"x": "i8", "y": "i8", "scale": 1.0, "offset": -7.0},
]  # fmt: skip
#: The rows of averages in f32; in turn for every pair of types.
_SHAPES = [
    {k: v for k, v in row.items() if k != "func"}
    for row in pool2d.CASES
    if row.get("func") == pool2d.AVG
]
CASES = [
    *({**shape, "func": AVG, **_WAYS[k % len(_WAYS)]} for k, shape in enumerate(_SHAPES)),
    # The whole image, its sum in more pieces than one; rows of more taps than a piece has.
    *({"h": h, "w": w, "c": c, "n": n, "kh": h, "kw": w, "func": func, **way}
      for (h, w, c, n), func, way in zip(
          ((7, 7, 70, 2), (7, 7, 48, 1), (25, 5, 64, 2), (12, 31, 24, 1), (1, 300, 20, 1),
           (3, 140, 5, 1), (2, 129, 33, 1)), (AVG, SUM) * 4, _WAYS * 2, strict=False)),
    # Every second sum is a half; the ends of the types.
    *({"h": 4, "w": 9, "c": 37, "kw": 2, "kh": 1, "func": AVG, "scale": 1.0, "x": x, "y": x}
      for x in ("i8", "u8")),
    *({"h": 16, "w": 16, "c": 17, "kh": 16, "kw": 16, "func": func, "x": x, "y": x, "ends": ends,
       "zero": zero, "scale": scale}
      for x in ("i8", "u8") for ends in ("least", "most") for zero in ("min", "max")
      for func, scale in ((AVG, 0.5), (SUM, 1e-3))),
    {"h": 3, "w": 3, "c": 33, "func": SUM, "scale": 1e30},
    # Sums of windows that the image's edges cut.
    *({"h": 6, "w": 7, "c": 18, "kh": 3, "kw": 4, "pt": 1, "pb": 1, "pl": 2, "pr": 1, "func": SUM,
       "x": x, "y": x, "scale": 0.07} for x in ("i8", "u8")),
]  # fmt: skip


def facts(row):
    f = {"x": "i8", "y": "i8", "offset": 0.0, **row}
    shape = {k: v for k, v in f.items() if k in pool2d._DEFAULTS or k in ("h", "w", "c")}
    ends = np.iinfo(TYPES[f["y"]])
    held = np.iinfo(TYPES[f["x"]])
    zero = {"min": held.min, "max": held.max}.get(f.get("zero"), held.min + 121)
    y_zero = 0 if f["offset"] else int(ends.min) + 100
    scale = f.get("scale", 0.77 if f["func"] == AVG else 0.77 / (f["h"] * f["w"]))
    return {
        **f, **pool2d.facts(shape), "x_zero": int(zero), "y_zero": y_zero,
        "low": y_zero if f.get("relu") else int(ends.min), "high": int(ends.max),
        "scale": float(np.float32(scale)), "offset": float(np.float32(f["offset"])),
    }  # fmt: skip


def operands(f, rng):
    return [integers(rng, (f["n"], f["h"], f["w"], f["c"]), f["x"], f.get("ends", "any"))]


def reference(f, inputs):
    centred = inputs[0].astype(np.int64) - f["x_zero"]
    sums, count = pool2d.sums_and_counts(f, centred)
    v = sums.astype(np.float32)
    if f["func"] == AVG:
        v = v / count[None, :, :, None].astype(np.float32)
    with np.errstate(over="ignore"):
        v = v * np.float32(f["scale"]) + np.float32(f["offset"])
    steps = np.rint(v).astype(np.float64) + f["y_zero"]
    return [np.clip(steps, f["low"], f["high"]).astype(TYPES[f["y"]])]
