"""attention_cached: one row and blocks, shared heads, windows, tails of heads, limits of before,
biases and sinks, caches of other types."""

from __future__ import annotations

import numpy as np

from tests.cache_rows import rounded, widened

#: b, m, h, g, n, d, rows before.
_SIZES = [
    (1, 1, 3, 1, 9, 64, [4]), (2, 1, 4, 4, 20, 8, [19, 0]), (1, 1, 8, 2, 33, 16, [30]),
    (1, 2, 5, 1, 11, 36, [9]), (2, 3, 4, 2, 17, 32, [2, 14]), (1, 30, 3, 1, 40, 24, [10]),
    (1, 53, 2, 1, 53, 5, [0]), (1, 1, 1, 1, 1, 1, [0]), (2, 1, 2, 1, 6, 40, [-3, 90]),
    (0, 1, 2, 1, 6, 8, []), (1, 1, 5, 1, 75, 84, [70]),
]  # fmt: skip
CASES = [
    *({"sizes": sizes} for sizes in _SIZES),
    *({"sizes": sizes, "window": 5} for sizes in _SIZES[:7]),
    *({"sizes": sizes, "cap": 2.0, "scale": -0.5} for sizes in _SIZES[:7]),
]
HALVES = CASES
#: Operands of which some stay in f32 beside queries in f16.
_BESIDE = [
    *({"sizes": sizes, "sinks": 1, **more} for sizes in _SIZES[:7]
      for more in ({}, {"bias": (1, 0, 0)})),
    *({"sizes": sizes, "bias": bias, **more} for sizes in _SIZES[:7]
      for bias, more in (((0, 1, 3), {}), ((1, 1, -2), {"window": 4, "cap": 1.5}))),
]  # fmt: skip
CASES = [
    *CASES,
    *_BESIDE,
    *({**row, "q": "f2", "cache": "f2"} for row in _BESIDE),
    *({"sizes": sizes, "cache": cache, **more} for cache in ("f2", "i1") for sizes in _SIZES
      for more in ({}, {"cap": 1.5, "bias": (1, 1, 0), "sinks": 1, "window": 3})),
    # More rows than a piece of sums holds, all alike and as large as they can be.
    {"sizes": (1, 1, 3, 1, 1200, 36, [1199]), "cache": "i1", "alike": 1},
]  # fmt: skip


def facts(row):
    b, m, h, g, n, d, before = row["sizes"]
    by_batch, by_head, more = row.get("bias", (0, 0, 0))
    cache = np.dtype(row.get("cache", "f4"))
    return {
        "b": b, "m": m, "h": h, "g": g, "n": n, "d": d, "window": row.get("window", 0),
        "scale": row.get("scale", 0.25), "cap": row.get("cap", 0.0), "softcap": int("cap" in row),
        "given": before, "cache": cache, "row": d + 4 * (cache == np.int8),
        "bias": int("bias" in row), "bias_b": by_batch, "bias_h": by_head,
        "bias_n": max(n + more, m) if "bias" in row else 0, "sinks": row.get("sinks", 0),
        "alike": row.get("alike", 0), "q": row.get("q", "f4"),
    }  # fmt: skip


def _room(f):
    return min(f["n"], f["bias_n"]) if f["bias"] else f["n"]


def operands(f, rng):
    shapes = [(f["b"], f["m"], f["h"], f["d"]), *[(f["b"], f["g"], f["n"], f["d"])] * 2]
    q, k, v = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    if f["alike"]:
        q[:], k[:], v[:] = 1, 1, -3
    before = np.array(f["given"], np.int64)
    for row, first in enumerate(np.clip(before, 0, _room(f) - f["m"])):
        k[row, :, first + f["m"] :] = v[row, :, first + f["m"] :] = np.nan  # not filled
    if f["cache"] == np.int8:
        k, v = rounded(k), rounded(v)
    elif f["cache"] == np.float16:
        k, v = k.astype(np.float16), v.astype(np.float16)
    made = [q.astype(f["q"]), k, v, before]
    if f["bias"]:
        shape = [f["b"] if f["bias_b"] else 1, f["h"] if f["bias_h"] else 1, f["m"], f["bias_n"]]
        made.append(rng.standard_normal(shape).astype(np.float32))
        made[-1][..., 1::5] = -np.inf
        made[-1][..., 0] = 0
    if f["sinks"]:
        made.append((rng.standard_normal(f["h"]) * 3).astype(np.float32))
    return made


def reference(f, inputs):
    q = inputs[0].astype(np.float64)
    k, v = (widened(a) if a.dtype == np.int8 else a.astype(np.float64) for a in inputs[1:3])
    extra = [a.astype(np.float64) for a in inputs[4:]]
    y = np.zeros(q.shape)
    for b, first in enumerate(np.clip(inputs[3], 0, _room(f) - f["m"])):
        for i in range(f["m"]):
            hi = first + i + 1
            lo = max(0, hi - f["window"]) if f["window"] else 0
            for h in range(f["h"]):
                head = h // (f["h"] // f["g"])
                scores = k[b, head, lo:hi] @ q[b, i, h] * f["scale"]
                if f["softcap"]:
                    scores = f["cap"] * np.tanh(scores / f["cap"])
                if f["bias"]:
                    scores = scores + extra[0][b * f["bias_b"], h * f["bias_h"], i, lo:hi]
                sink = [extra[-1][h]] if f["sinks"] else []
                terms = np.exp([*scores, *sink] - np.max([*scores, *sink]))
                y[b, i, h] = terms[: hi - lo] / terms.sum() @ v[b, head, lo:hi]
    return [y.astype(f["q"])]
