"""global_pool_band: images in bands of pixels; each band goes on where the last one ended."""

from __future__ import annotations

import numpy as np

from tvm_megcc.kernels.contract import codes

MAX, AVG = (codes("global_pool")[name] for name in ("MAX", "AVG"))
RUN = 32  # pixels that are added up before their sum is added to the others
#: Bands at the beginning, inside and at the end of runs and of images.
CASES = [
    {"hw": hw, "first": first, "total": total, "c": c, "func": func}
    for func in (AVG, MAX)
    for (hw, first, total), c in zip(
        ((5, 0, 5), (32, 0, 99), (7, 31, 38), (64, 64, 200), (1, 63, 64), (3, 33, 40), (33, 1, 99),
         (0, 40, 50), (100, 7, 300), (49, 0, 49)),
        (1, 3, 4, 16, 17, 33, 70, 130, 9, 64), strict=True)
]  # fmt: skip
HALVES: list[dict[str, int]] = []
CASES += [{**row, "half": 1} for row in CASES[::3]]
CASES += [{**row, "half": 1, "wide": 1} for row in CASES[1:10:3]]


def operands(f, rng):
    x = rng.standard_normal((f["hw"], f["c"])).astype(np.float32)
    before = rng.standard_normal((2, f["c"])).astype(np.float32)
    return [x.astype(np.float16) if f.get("half") else x, before]


def reference(f, inputs):
    x, before = inputs[0].astype(np.float64), inputs[1].astype(np.float64)
    add = np.maximum if f["func"] == MAX else np.add
    empty = np.full(f["c"], -np.inf if f["func"] == MAX else 0.0)
    total, run = before if f["first"] else (empty, empty)
    for number, pixel in enumerate(x, f["first"] + 1):
        run = add(run, pixel)
        if f["func"] == AVG and number % RUN == 0:
            total, run = add(total, run), empty
    y = add(total, run)
    y = y / f["total"] if f["func"] == AVG else y
    wide = not f.get("half") or f.get("wide")
    after = np.stack([total, run]).astype(np.float32)
    return [after, y.astype(np.float32 if wide else np.float16)]
