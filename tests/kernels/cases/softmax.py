"""softmax and log_softmax along the last and along an inner axis."""

from __future__ import annotations

import numpy as np

CASES = [
    {"outer": outer, "axis": axis, "inner": inner, "log": log}
    for log in (0, 1)
    for outer, axis, inner in [
        *((2, n, 1) for n in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 1000)),
        *((37, n, 1) for n in (1, 2, 3, 4)),
        *((2, 5, n) for n in (2, 3, 4, 5, 8, 15, 16, 17, 33)),
        (0, 5, 1), (3, 0, 1), (2, 3, 0), (0, 3, 4), (3, 0, 4), (1, 21, 400), (197, 65, 1),
    ]
]  # fmt: skip
HALVES = [row for row in CASES if row["inner"] == 1]


def operands(f, rng):
    x = rng.standard_normal((f["outer"], f["axis"], f["inner"])) * 4
    x[-1:] -= 1000  # sums of exponentials that would underflow without the maximum
    if f["axis"] > 4:
        x[:1, 2] = -np.inf
    return [x.astype(np.float32)]


def reference(f, inputs):
    x = inputs[0].astype(np.float64)
    x = x - x.max(1, keepdims=True, initial=-np.inf)
    total = np.exp(x).sum(1, keepdims=True)
    return [(x - np.log(total) if f["log"] else np.exp(x) / total).astype(np.float32)]
