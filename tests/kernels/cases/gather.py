"""gather: both index types, negative indices, and indices that ONNX forbids."""

from __future__ import annotations

import numpy as np

_SHAPES = [
    (1, 10, 4, 6),
    (3, 5, 12, 7),
    (2, 4, 1, 1),
    (2, 3, 0, 4),
    (2, 3, 8, 0),
    (1, 900, 512, 60),
]
CASES = [
    {"outer": o, "axis": a, "row_bytes": r, "count": n, "index": index}
    for index in ("i32", "i64")
    for o, a, r, n in _SHAPES
]


def operands(f, rng):
    x = rng.integers(0, 256, (f["outer"], f["axis"], f["row_bytes"]), np.uint8)
    index = rng.integers(-f["axis"], f["axis"], f["count"])
    index[4:6] = (-f["axis"] - 9, f["axis"] + 7)[: max(f["count"] - 4, 0)]
    return [x, index.astype(np.int32 if f["index"] == "i32" else np.int64)]


def reference(f, inputs):
    x, index = inputs
    index = np.where(index < 0, index + f["axis"], index)
    return [x.take(np.clip(index, 0, f["axis"] - 1), 1)]
