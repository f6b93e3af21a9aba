"""cache_append: new rows behind those of each batch, apart from the old cache and in its place."""

from __future__ import annotations

import numpy as np

from tests.cache_rows import rounded

CASES = [
    {"sizes": (1, 1, 1, 4, 4, 16), "before": [2]},
    {"sizes": (2, 3, 2, 5, 5, 7), "before": [0, 2]},
    {"sizes": (2, 1, 3, 3, 4, 2), "before": [3, 1]},
    {"sizes": (1, 2, 1, 0, 2, 5), "before": [0]},
    {"sizes": (2, 2, 1, 4, 4, 3), "before": [-9, 9]},
    *({"sizes": (1, 2, 2, 6, 6, 4), "before": [3], "dtype": t}
      for t in (np.float16, np.float64, np.int8)),
    *({"sizes": sizes, "before": before, "cache": cache, "odd": odd}
      for cache in (np.float16, np.int8) for odd in (0, 1)
      for sizes, before in (((2, 3, 2, 5, 5, 7), [0, 2]), ((1, 1, 3, 2, 4, 64), [1]))),
]  # fmt: skip


def facts(row):
    b, s, h, p, n, d = row["sizes"]
    dtype = np.dtype(row.get("dtype", np.float32))
    cache = np.dtype(row.get("cache", dtype))
    more = 4 * ("cache" in row and cache == np.int8)
    return {"b": b, "s": s, "h": h, "p": p, "n": n, "d": d, "row_bytes": d * cache.itemsize + more,
            "dtype": dtype, "cache": cache, "given": row["before"],
            "odd": row.get("odd", 0)}  # fmt: skip


def operands(f, rng):
    past_row = f["row_bytes"] // f["cache"].itemsize
    shapes = (f["b"], f["s"], f["h"], f["d"]), (f["b"], f["h"], f["p"], past_row)
    x, past = (rng.integers(-99, 99, shape) for shape in shapes)
    x = x.astype(f["dtype"])
    if f["cache"] != f["dtype"]:
        x += rng.standard_normal(x.shape).astype(f["dtype"])
    if f["odd"]:
        x[0, 0, 0], x[0, -1, -1, 1:] = 1e-40, np.inf
        x[-1, -1, 0, :2] = np.nan
    return [x, np.array(f["given"], np.int64), past.astype(f["cache"])]


def reference(f, inputs):
    x, before, past = inputs
    if f["cache"] != f["dtype"]:
        with np.errstate(all="ignore"):
            x = rounded(x) if f["cache"] == np.int8 else x.astype(f["cache"])
    y = np.zeros((*past.shape[:2], f["n"], past.shape[3]), past.dtype)
    for k, first in enumerate(np.clip(before, 0, min(f["n"] - f["s"], f["p"]))):
        y[k, :, : f["p"]] = past[k, :, : f["n"]]
        y[k, :, first : first + f["s"]] = x[k].swapaxes(0, 1)
    return [y]
