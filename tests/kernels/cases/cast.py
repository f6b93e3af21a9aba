"""cast: f16 and f32, every kind of number, tails of vectors."""

from __future__ import annotations

import numpy as np

TYPES = {"f16": np.float16, "f32": np.float32}
CASES = [
    {"size": n, "from": a, "to": b, "saturate": s}
    for a, b, s in (("f16", "f32", 0), ("f32", "f16", 0), ("f32", "f16", 1))
    for n in (0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 1000)
]
#: Zeros, infinities, subnormals of f16, ties, the largest f16 and what is past it.
_SPECIAL = [
    0.0, -0.0, np.inf, -np.inf, 2**-24, 3 * 2**-25, 2**-26, 1 + 2**-11, 1 + 3 * 2**-11, 65504.0,
    65519.0, 65520.0, -1e9, 1e-9, np.nan, 3.4e38,
]  # fmt: skip


def operands(f, rng):
    x = rng.standard_normal(f["size"]) * 8
    x[: len(_SPECIAL)] = _SPECIAL[: x.size]
    with np.errstate(over="ignore"):
        return [x.astype(TYPES[f["from"]])]


def reference(f, inputs):
    x = inputs[0]
    if f["saturate"]:
        x = np.where(np.isfinite(x), np.clip(x, -65504, 65504), x)
    return [x.astype(TYPES[f["to"]])]
