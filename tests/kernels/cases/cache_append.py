"""cache_append: new rows behind those of each batch, apart from the old cache and in its place."""

from __future__ import annotations

import numpy as np

CASES = [
    {"sizes": (1, 1, 1, 4, 4, 16), "before": [2]},
    {"sizes": (2, 3, 2, 5, 5, 7), "before": [0, 2]},
    {"sizes": (2, 1, 3, 3, 4, 2), "before": [3, 1]},
    {"sizes": (1, 2, 1, 0, 2, 5), "before": [0]},
    {"sizes": (2, 2, 1, 4, 4, 3), "before": [-9, 9]},
    *({"sizes": (1, 2, 2, 6, 6, 4), "before": [3], "dtype": t}
      for t in (np.float16, np.float64, np.int8)),
]  # fmt: skip


def facts(row):
    b, s, h, p, n, d = row["sizes"]
    dtype = np.dtype(row.get("dtype", np.float32))
    return {"b": b, "s": s, "h": h, "p": p, "n": n, "row_bytes": d * dtype.itemsize,
            "dtype": dtype, "given": row["before"]}  # fmt: skip


def operands(f, rng):
    d = f["row_bytes"] // f["dtype"].itemsize
    shapes = (f["b"], f["s"], f["h"], d), (f["b"], f["h"], f["p"], d)
    x, past = (rng.integers(-99, 99, shape).astype(f["dtype"]) for shape in shapes)
    return [x, np.array(f["given"], np.int64), past]


def reference(f, inputs):
    x, before, past = inputs
    y = np.zeros((*past.shape[:2], f["n"], past.shape[3]), past.dtype)
    for k, first in enumerate(np.clip(before, 0, min(f["n"] - f["s"], f["p"]))):
        y[k, :, : f["p"]] = past[k, :, : f["n"]]
        y[k, :, first : first + f["s"]] = x[k].swapaxes(0, 1)
    return [y]
