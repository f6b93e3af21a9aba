"""layer_norm: with and without scale and bias, and its root-mean-square form."""

from __future__ import annotations

import numpy as np

CASES = [
    *(
        {"outer": 3, "inner": n, "scale": 1, "bias": 1, "rms": 0}
        for n in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 70, 2000)
    ),
    *(
        {"outer": 5, "inner": 21, "scale": scale, "bias": bias, "rms": rms}
        for scale, bias, rms in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 0, 1))
    ),
    {"outer": 0, "inner": 4, "scale": 1, "bias": 1, "rms": 0},
    {"outer": 4, "inner": 0, "scale": 1, "bias": 1, "rms": 0},
    {"outer": 65, "inner": 128, "scale": 1, "bias": 1, "rms": 0},
]
HALVES = CASES


def facts(row):
    return {**row, "eps": 1e-5}


def operands(f, rng):
    shapes = [(f["outer"], f["inner"]), *[(f["inner"],)] * (f["scale"] + f["bias"])]
    x, *rest = (rng.standard_normal(s).astype(np.float32) for s in shapes)
    return [x + np.float32(3), *rest]


def reference(f, inputs):
    x = inputs[0].astype(np.float64)
    if not f["rms"] and f["inner"]:
        x = x - x.mean(-1, keepdims=True)
    if f["inner"]:
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + f["eps"])
    if f["scale"]:
        x = x * inputs[1]
    if f["bias"]:
        x = x + inputs[-1]
    return [x.astype(np.float32)]
