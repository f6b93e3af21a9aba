"""global_pool: all pixels of an image."""

from __future__ import annotations

import numpy as np

from tvm_megcc.kernels.contract import codes

MAX, AVG = (codes("global_pool")[name] for name in ("MAX", "AVG"))
CASES = [
    {"n": n, "hw": hw, "c": c, "func": func}
    for func in (MAX, AVG)
    for n, hw, c in [
        *((1, 5, c) for c in (1, 3, 4, 7, 8, 15, 16, 17, 33, 70)),
        (3, 1, 20), (2, 49, 130), (1, 3001, 9), (0, 4, 8), (2, 4, 0),
    ]
]  # fmt: skip
HALVES = CASES[::2]
#: Numbers above 0, of which one long sum is off by more than is allowed.
CASES += [{"n": 1, "hw": 20000, "c": 9, "func": AVG, "positive": 1}]
#: Averages of f16 in f32.
CASES += [{**row, "wide": 1} for row in CASES[1::2] if row["func"] == AVG]


def operands(f, rng):
    shape = f["n"], f["hw"], f["c"]
    x = rng.uniform(0.5, 1.5, shape) if f.get("positive") else rng.standard_normal(shape)
    x = x.astype(np.float32)
    return [x.astype(np.float16) if f.get("wide") else x]


def reference(f, inputs):
    x = inputs[0].astype(np.float64)
    return [(x.max(1, initial=-np.inf) if f["func"] == MAX else x.mean(1)).astype(np.float32)]
