"""gather_wq: each layout of a table, 4 and 8 bits, short last blocks, panels that are not full."""

from __future__ import annotations

import numpy as np
from cases import gather

#: Panels of pairs by rows and by 16; groups of 1, 4 and 8 numbers, 4 bits with and without flip.
_LAYOUTS = ((1, 0, 0), (16, 0, 0), (16, 1, 0), (16, 4, 1), (16, 4, 0), (16, 8, 0))
_SIZES = ((1, 1, 1, 1), (33, 48, 16, 40), (10, 37, 16, 12), (17, 9, 9, 5), (9, 32, 32, 0))
CASES = [
    {"axis": a, "depth": d, "block": b, "count": n, "nr": nr, "kr": kr, "flip": flip, "bits": bits,
     "zero": zero, "index": "i64" if zero else "i32"}
    for a, d, b, n in _SIZES for nr, kr, flip in _LAYOUTS for bits, zero in ((4, 0), (4, 1), (8, 1))
] + [
    {"axis": 7, "depth": 25, "block": 5, "count": 9, "nr": nr, "kr": 0, "flip": 0, "bits": 4,
     "zero": 1, "index": "i64"} for nr in (1, 16)
]  # fmt: skip


def operands(f, rng):
    low, high = (-8, 7) if f["bits"] == 4 else (-128, 127)
    blocks = f["axis"] * -(-f["depth"] // f["block"])
    rows = {"outer": 1, "row_bytes": 1, **f}
    given = [
        rng.integers(low, high, (f["axis"], f["depth"]), np.int8, endpoint=True),
        gather.operands(rows, rng)[1],
        rng.uniform(0.01, 0.02, blocks).astype(np.float32),
    ]
    if f["zero"]:
        given.append(rng.integers(low, high, blocks, np.int8, endpoint=True))
    return given


def reference(f, inputs):
    numbers, index, scale, *zero = inputs
    index = np.where(index < 0, index + f["axis"], index)
    rows = np.clip(index, 0, f["axis"] - 1)
    at = np.arange(f["depth"]) // f["block"]
    scales, *zeros = (a.reshape(f["axis"], -1)[rows][:, at] for a in (scale, *zero))
    whole = numbers[rows].astype(np.float32)
    return [(whole - zeros[0].astype(np.float32) if zeros else whole) * scales]
