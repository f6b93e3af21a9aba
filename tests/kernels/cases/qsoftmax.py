"""qsoftmax: rows and columns: pairs of types, tails, halves, distances of 0 to 255, to the bit.

Each row is a case by a table of floats and by one of integers.
"""

from __future__ import annotations

import numpy as np
from cases.qconv2d import TYPES, integers

_PAIRS = [(x, y) for x in ("i8", "u8") for y in ("i8", "u8")]
_ROWS = [
    *({"outer": 3, "axis": n, "x": x, "y": y}
      for n, (x, y) in zip((1, 2, 3, 12, 63, 64, 65, 1000), _PAIRS * 2, strict=True)),
    *({"outer": 2, "axis": 40, "x": x, "y": y, "in": 1e-3} for x, y in _PAIRS),
    # One of two equal elements is a half of all steps; one alone is more than the limit.
    {"outer": 1, "axis": 2, "x": "i8", "y": "i8", "same": 1, "out": 1 / 255},
    {"outer": 1, "axis": 7, "x": "u8", "y": "u8", "in": 30.0},
    {"outer": 0, "axis": 5, "x": "i8", "y": "i8"},
    {"outer": 4, "axis": 0, "x": "i8", "y": "i8"},
    *({"outer": o, "axis": n, "inner": i, "x": x, "y": y} for (o, n, i), (x, y) in
      zip(((1, 1, 3), (2, 5, 64), (3, 21, 65), (2, 3, 130)), _PAIRS, strict=True)),
    {"outer": 2, "axis": 2, "inner": 5, "x": "i8", "y": "i8", "same": 1, "out": 1 / 255},
    {"outer": 1, "axis": 7, "inner": 9, "x": "u8", "y": "u8", "in": 30.0},
    *({"outer": o, "axis": n, "inner": i, "x": "u8", "y": "i8"}
      for o, n, i in ((0, 5, 3), (4, 0, 2), (4, 3, 0))),
]  # fmt: skip
CASES = [
    *_ROWS,
    *({**row, "table": "i32"} for row in _ROWS),
    *({"outer": 2, "axis": 9, "x": "i8", "y": "i8", "table": "i32", "out": scale, **more}
      for scale, more in ((2.0**-20, {}), (0.0123, {"limits": (-110, 100)}), (1e3, {}),
                          (1e30, {}))),
    {"outer": 1, "axis": 70_000, "x": "u8", "y": "u8", "table": "i32", "in": 1e-6, "out": 2.0**-20},
]  # fmt: skip


def facts(row):
    ends = np.iinfo(TYPES[row["y"]])
    scale = float(np.float32(row.get("out", 1 / 256)))
    low, high = row.get("limits", (int(ends.min), int(ends.max)))
    return {"inner": 1, **row, "y_scale": scale, "y_zero": int(ends.min), "low": low,
            "high": high}  # fmt: skip


def operands(f, rng):
    x = integers(rng, (f["outer"], f["axis"], f["inner"]), f["x"])
    x = np.full_like(x, 5) if f.get("same") else x
    table = np.exp(-np.arange(256) * f.get("in", 0.07))
    return [
        x,
        np.rint(table * 2.0**30).astype(np.int32)
        if f.get("table") == "i32"
        else table.astype(np.float32),
    ]


def reference(f, inputs):
    x, table = inputs
    if not x.size:
        return [x.astype(TYPES[f["y"]])]
    whole = x.astype(int)
    e = table[whole.max(1, keepdims=True) - whole]
    if table.dtype == np.int32:
        return [_in_integers(f, e.astype(np.int64))]
    total = np.cumsum(e, axis=1, dtype=np.float32)[:, -1:]
    v = e * (np.float32(1) / (total * np.float32(f["y_scale"])))
    steps = np.rint(v).astype(np.float64) + f["y_zero"]
    return [np.clip(steps, f["low"], f["high"]).astype(TYPES[f["y"]])]


def _in_integers(f, e):
    """As op/qsoftmax.h says of a table of i32, with integers of any size."""
    significand, exponent = np.frexp(np.float32(f["y_scale"]))
    steps = np.zeros(e.shape, np.int64)
    for place in np.ndindex(e.shape[0], e.shape[2]):
        column = (place[0], slice(None), place[1])
        total = int(e[column].sum())
        cut = max(0, total.bit_length() - 32)
        divisor = (total >> cut) * int(significand * 2**24)
        more = divisor.bit_length() - 31
        factor, down = 2**61 // (divisor >> more), 61 + cut + more + int(exponent) - 24
        for k in np.ndindex(e.shape[1]):
            product = int(e[column][k]) * factor
            steps[column][k] = ((product >> (down - 1)) + 1) >> 1
    return np.clip(steps + f["y_zero"], f["low"], f["high"]).astype(TYPES[f["y"]])
