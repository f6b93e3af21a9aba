"""attention_cached: one row and blocks, shared heads, windows, tails of heads, limits of before."""

from __future__ import annotations

import numpy as np

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


def facts(row):
    b, m, h, g, n, d, before = row["sizes"]
    return {
        "b": b, "m": m, "h": h, "g": g, "n": n, "d": d, "window": row.get("window", 0),
        "scale": row.get("scale", 0.25), "cap": row.get("cap", 0.0), "softcap": int("cap" in row),
        "given": before,
    }  # fmt: skip


def operands(f, rng):
    shapes = [(f["b"], f["m"], f["h"], f["d"]), *[(f["b"], f["g"], f["n"], f["d"])] * 2]
    q, k, v = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    before = np.array(f["given"], np.int64)
    for row, first in enumerate(np.clip(before, 0, f["n"] - f["m"])):
        k[row, :, first + f["m"] :] = v[row, :, first + f["m"] :] = np.nan  # not filled
    return [q, k, v, before]


def reference(f, inputs):
    q, k, v = (a.astype(np.float64) for a in inputs[:3])
    y = np.zeros(q.shape)
    for b, first in enumerate(np.clip(inputs[3], 0, f["n"] - f["m"])):
        for i in range(f["m"]):
            hi = first + i + 1
            lo = max(0, hi - f["window"]) if f["window"] else 0
            for h in range(f["h"]):
                head = h // (f["h"] // f["g"])
                scores = k[b, head, lo:hi] @ q[b, i, h] * f["scale"]
                if f["softcap"]:
                    scores = f["cap"] * np.tanh(scores / f["cap"])
                terms = np.exp(scores - scores.max())
                y[b, i, h] = terms / terms.sum() @ v[b, head, lo:hi]
    return [y.astype(np.float32)]
