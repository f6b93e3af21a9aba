"""qbinary: sums and products of quantised tensors: pairs of types, tails, halves, to the bit."""

from __future__ import annotations

import numpy as np
from cases.qconv2d import TYPES, integers

from tvm_megcc.kernels.contract import codes

FUNCS = codes("qbinary")
_PAIRS = [(a, b, y) for a in ("i8", "u8") for b in ("i8", "u8") for y in ("i8", "u8")]
CASES = [
    *({"func": FUNCS[func], "size": size, "a": a, "b": b, "y": y}
      for func in ("ADD", "MUL") for size, (a, b, y) in zip((1, 15, 16, 17, 47, 64, 100, 333),
                                                            _PAIRS, strict=True)),
    {"func": FUNCS["ADD"], "size": 0},
    {"func": FUNCS["ADD"], "size": 3000, "relu": 1},
    # Halves wherever the sum is odd; far beyond the limits; below one step.
    {"func": FUNCS["ADD"], "size": 700, "scales": (0.25, 0.25, 0.5)},
    {"func": FUNCS["MUL"], "size": 700, "scales": (0.5, 0.5, 0.5), "a": "u8", "b": "u8", "y": "u8"},
    {"func": FUNCS["ADD"], "size": 90, "scales": (1e20, 1e30, 1e-8)},
    {"func": FUNCS["MUL"], "size": 90, "scales": (1e-3, 1e-3, 1e3)},
    # Steps below which a kernel uses floats; of very different sizes; results on halves.
    {"func": FUNCS["ADD"], "size": 700, "scales": (3e-31, 5e-31, 6e-31)},
    {"func": FUNCS["ADD"], "size": 700, "scales": (0.001, 0.79, 0.1)},
    {"func": FUNCS["ADD"], "size": 3000, "scales": (0.1, 0.1, 0.2)},
    # One number for each channel, of one image and of several; one for all, and for each image.
    *({"func": FUNCS[func], "size": outer * inner * period, "inner": inner, "period": period}
      for func, (outer, inner, period) in zip(("ADD", "MUL") * 4, (
          (1, 35, 24), (3, 10, 17), (1, 7, 3), (2, 5, 130), (1, 300, 1), (3, 70, 1), (1, 1, 1),
          (0, 4, 5)), strict=True)),
    # A zero point that is added before rounding.
    *({"func": FUNCS[func], "size": 500, "scales": (0.25, 0.25, 0.5), "offset": 7.0}
      for func in ("ADD", "MUL")),
]  # fmt: skip


def facts(row):
    f = {"a": "i8", "b": "i8", "y": "i8", **row}
    low, high = (int(v) for v in (np.iinfo(TYPES[f["y"]]).min, np.iinfo(TYPES[f["y"]]).max))
    product = f["func"] == FUNCS["MUL"]
    scales = f.get("scales", (0.0667, 0.0411, 0.17 if product else 0.0791))
    zeros = [{"i8": -7, "u8": 131}[f[name]] for name in "ab"]
    return {
        "inner": 1, "period": f["size"], "offset": 0.0,
        **f, "a_zero": zeros[0], "b_zero": zeros[1], "high": high,
        "y_zero": 0 if f.get("offset") else low + 120,
        "low": low + 120 if f.get("relu") else low, "a_scale": float(np.float32(scales[0])),
        "b_scale": float(np.float32(scales[1])), "y_scale": float(np.float32(scales[2])),
    }  # fmt: skip


def operands(f, rng):
    return [integers(rng, (f["size"],), f["a"]), integers(rng, (f["size"] // f["inner"],), f["b"])]


def reference(f, inputs):
    left, right = (
        (x.astype(np.float32) - np.float32(f[f"{name}_zero"])) * np.float32(f[f"{name}_scale"])
        for name, x in zip("ab", inputs, strict=True)
    )
    right = np.broadcast_to(
        right.reshape(-1, 1, max(1, f["period"])),
        (len(right) // max(1, f["period"]), f["inner"], max(1, f["period"])),
    )
    right = right.reshape(-1)
    with np.errstate(over="ignore"):
        v = (left * right if f["func"] == FUNCS["MUL"] else left + right) / np.float32(f["y_scale"])
    steps = np.rint(v + np.float32(f["offset"])).astype(np.float64) + f["y_zero"]
    return [np.clip(steps, f["low"], f["high"]).astype(TYPES[f["y"]])]
