"""dequantize: both types, tails, every byte, zero points at the ends, to the bit."""

from __future__ import annotations

import numpy as np
from cases.qconv2d import TYPES, integers

CASES = [
    *({"size": size, "x": x, "zero": zero, "scale": scale}
      for size, x, zero, scale in ((0, "i8", 0, 1.0), (1, "i8", -128, 0.05), (15, "u8", 0, 0.02),
                                   (16, "i8", 127, 0.013), (17, "u8", 255, 0.031),
                                   (1000, "i8", 5, 1e-30), (1003, "u8", 131, 1e30),
                                   (40, "u8", 7, 1e-40))),
]  # fmt: skip


def facts(row):
    return {**row, "scale": float(np.float32(row["scale"]))}


def operands(f, rng):
    return [integers(rng, (f["size"],), f["x"])]


def reference(f, inputs):
    assert inputs[0].dtype == TYPES[f["x"]]
    return [(inputs[0].astype(np.int32) - f["zero"]).astype(np.float32) * np.float32(f["scale"])]
