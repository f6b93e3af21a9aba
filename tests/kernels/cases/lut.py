"""lut: every byte in every place of a vector, tails, each pair of types."""

from __future__ import annotations

import numpy as np
from cases.qconv2d import TYPES, integers

CASES = [
    *({"size": size, "x": x, "y": y}
      for size, x, y in ((1, "i8", "i8"), (16, "u8", "i8"), (47, "i8", "u8"), (700, "u8", "u8"),
                         (0, "i8", "i8"), (4096, "i8", "i8"))),
]  # fmt: skip


def operands(f, rng):
    values = np.arange(f["size"], dtype=np.int64).astype(np.uint8)
    x = values if f["size"] >= 256 else integers(rng, (f["size"],), "u8")
    return [x.view(TYPES[f["x"]]), integers(rng, (256,), f["y"])]


def reference(f, inputs):
    x, table = inputs
    return [table[x.view(np.uint8)]]
