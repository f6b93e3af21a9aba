"""gather_panels: rows in every lane of a panel, a last panel that is not full, both index types."""

from __future__ import annotations

import numpy as np
from cases import gather

TYPES = {"f32": np.float32, "f16": np.float16, "i8": np.int8}
CASES = [
    {"axis": a, "depth": d, "nr": nr, "count": n, "index": index, "table": table}
    for index, table in (("i32", "f32"), ("i64", "f32"), ("i64", "f16"), ("i32", "i8"))
    for a, d, nr, n in ((1, 1, 8, 1), (10, 5, 8, 12), (33, 7, 16, 40), (16, 24, 8, 6), (9, 3, 8, 0))
]


def operands(f, rng):
    table = rng.integers(-99, 99, (-(-f["axis"] // f["nr"]), f["depth"], f["nr"]))
    rows = {"outer": 1, "row_bytes": 1, **f}
    return [table.astype(TYPES[f["table"]]), gather.operands(rows, rng)[1]]


def reference(f, inputs):
    panels, index = inputs
    rows = panels.swapaxes(1, 2).reshape(-1, f["depth"])[: f["axis"]]
    index = np.where(index < 0, index + f["axis"], index)
    return [rows.take(np.clip(index, 0, f["axis"] - 1), 0)]
