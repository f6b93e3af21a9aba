"""quantize: both types, tails, halves, what is far beyond the limits, infinities and NaN."""

from __future__ import annotations

import numpy as np
from cases.qconv2d import TYPES

CASES = [
    *({"size": size, "y": y, "zero": zero, "scale": scale}
      for size, y, zero, scale in ((0, "i8", 0, 1.0), (1, "i8", -128, 0.05), (15, "u8", 0, 0.02),
                                   (16, "i8", 127, 0.013), (17, "u8", 255, 0.031),
                                   (63, "i8", 5, 0.03), (100, "u8", 131, 0.04))),
    *({"size": 1000, "y": y, "zero": zero, "scale": 0.5, "halves": 1}
      for y, zero in (("i8", -3), ("u8", 120))),
    *({"size": 333, "y": y, "zero": zero, "scale": scale, "far": 1}
      for y, zero in (("i8", 7), ("u8", 9)) for scale in (1e-40, 1e-30, 0.1, 1e30, 1e38)),
    # Quotients one unit in the last place from halves, and halves in f32 that are none in reals.
    *({"size": 4096, "y": "i8", "zero": 0, "scale": scale, "near": 1}
      for scale in (0.1, 0.0173, 1 / 3)),
]  # fmt: skip


def facts(row):
    return {**row, "scale": float(np.float32(row["scale"]))}


def operands(f, rng):
    x = (3 * rng.standard_normal(f["size"])).astype(np.float32)
    if f.get("halves"):
        x = rng.integers(-300, 300, f["size"]).astype(np.float32) / 4
    if f.get("near"):
        x = ((rng.integers(-130, 130, f["size"]) + 0.5) * f["scale"]).astype(np.float32)
        x = np.nextafter(x, np.float32(rng.choice([-1e9, 1e9])), dtype=np.float32)
        x[::3] = np.nextafter(x[::3], np.float32(0), dtype=np.float32)
    if f.get("far"):
        x[:6] = [np.inf, -np.inf, np.nan, 3e38, -3e38, -0.0]
        x[-1:] = np.nan
    return [x]


def reference(f, inputs):
    ends = np.iinfo(TYPES[f["y"]])
    v = np.rint(inputs[0] / np.float32(f["scale"])).astype(np.float64) + f["zero"]
    v = np.where(np.isnan(v), ends.min, v)
    return [np.clip(v, ends.min, ends.max).astype(TYPES[f["y"]])]
