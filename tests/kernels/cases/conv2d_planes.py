"""conv2d_planes: convolutions of images held as planes, against a sum over taps in double."""

from __future__ import annotations

import numpy as np
from cases import conv2d

_SAME = {"pt": 1, "pl": 1, "pb": 1, "pr": 1}
_RELU = {"act": conv2d.ACT["RELU"]}
_RELU6 = {"act": conv2d.ACT["CLIP"], "act_a": 0.0, "act_b": 6.0}

CASES = [
    # Widths around a tile's pixels at both strides, channels around a panel's.
    *({"h": 4, "w": w, "ic": 3, "oc": 8, "sh": 2, "sw": 2, **_SAME}
      for w in (1, 2, 3, 8, 9, 12, 13, 16, 17, 18, 25, 31, 33)),
    *({"h": 3, "w": w, "ic": 2, "oc": 9, **_SAME} for w in (1, 2, 4, 6, 7, 8, 9, 10, 12, 19)),
    *({"h": 3, "w": 11, "ic": 3, "oc": oc, **_SAME} for oc in (1, 7, 15, 16, 17, 24, 33)),
    # Every width of the kernel, every stride.
    *({"h": 5, "w": 40, "ic": 2, "oc": 8, "kw": kw, "sw": sw, "pl": kw // 2, "pr": kw // 2}
      for kw, sw in ((1, 2), (2, 1), (3, 4), (4, 3), (5, 1), (5, 2), (6, 3), (7, 1), (7, 4))),
    {"h": 15, "w": 32, "ic": 3, "oc": 32, "n": 2, "sh": 2, "sw": 2, **_SAME, **_RELU6},
    {"h": 20, "w": 21, "ic": 3, "oc": 12, "kh": 7, "kw": 7, "sh": 2, "sw": 2, "pt": 3, "pl": 3,
     "pb": 3, "pr": 3, **_RELU},
    # Asymmetric padding, padding wider than the image, dilated rows, no padding, many planes.
    {"h": 6, "w": 7, "ic": 4, "oc": 6, "pt": 2, "pr": 1, "sh": 2, "sw": 3},
    {"h": 2, "w": 1, "ic": 3, "oc": 5, "pt": 3, "pb": 3, "pl": 4, "pr": 4},
    {"h": 2, "w": 3, "ic": 3, "oc": 5, "kw": 1, "pt": 3, "pb": 3, "pl": 20, "pr": 14},
    {"h": 9, "w": 11, "ic": 3, "oc": 8, "dh": 3, "pt": 2, "pl": 3},
    {"h": 7, "w": 27, "ic": 3, "oc": 8, "kh": 2, "kw": 5},
    {"h": 5, "w": 19, "ic": 40, "oc": 17, **_SAME},
    {"h": 4, "w": 17, "ic": 1, "oc": 16, "kh": 5, "kw": 5, "pl": 2, "pr": 2, "pt": 2, "pb": 2},
    # The planes of a row together.
    {"h": 6, "w": 19, "ic": 3, "oc": 8, "n": 2, "lines": 1, **_SAME},
    {"h": 11, "w": 40, "ic": 4, "oc": 9, "kh": 5, "sh": 2, "dh": 2, "pt": 2, "lines": 1},
    {"h": 4, "w": 4, "ic": 4, "oc": 8, "n": 0},
    {"h": 4, "w": 4, "ic": 4, "oc": 0},
    *({"h": 3, "w": 12, "ic": 3, "oc": 11, **_SAME, "act": conv2d.ACT[act]}
      for act in ("SILU", "LEAKY_RELU", "HARDSWISH")),
]  # fmt: skip


def _random(rng):
    names = {"h": 9, "w": 43, "kh": 4, "sh": 3, "dh": 2, "n": 2, "ic": 5}
    row = {name: int(rng.integers(1, most + 1)) for name, most in names.items()}
    row["kw"], row["sw"] = ((3, 1), (3, 2), (5, 2), (7, 2))[rng.integers(4)]
    row |= {side: int(rng.integers(0, 5)) for side in ("pt", "pl", "pb", "pr")}
    row["oc"] = int(rng.integers(1, 28))
    row["lines"] = int(rng.integers(2))
    return row


CASES += [_random(np.random.default_rng(seed)) for seed in range(12)]


def facts(row):
    found = conv2d.facts({"lines": 0, **row})
    return {name: value for name, value in found.items() if name not in ("g", "residual")}


def operands(f, rng):
    shapes = [(f["n"], f["ic"], f["h"], f["w"]), (f["oc"], f["kh"], f["kw"], f["ic"]), (f["oc"],)]
    shapes.append((f["ic"],))
    return [rng.standard_normal(s).astype(np.float32) for s in shapes]


def reference(f, inputs):
    x, w, bias, pad = [a.astype(np.float64) for a in inputs]
    if f["lines"]:
        x = x.reshape(f["n"], f["h"], f["ic"], f["w"]).transpose(0, 2, 1, 3)
    sides = ((0, 0), (f["pt"], f["pb"]), (f["pl"], f["pr"]))
    planes = [np.pad(x[:, c], sides, constant_values=pad[c]) for c in range(f["ic"])]
    whole = {**f, "g": 1, "residual": 0, **dict.fromkeys(("pt", "pl", "pb", "pr"), 0)}
    return conv2d.finish(whole, conv2d.convolved(whole, np.stack(planes, 3), w) + bias, None)
