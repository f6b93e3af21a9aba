"""conv2d: every kind of convolution, against a sum over taps in double."""

from __future__ import annotations

from math import erf, inf

import ml_dtypes
import numpy as np

from tvm_megcc.kernels.contract import activation_codes

_DEFAULTS = {
    "n": 1, "kh": 3, "kw": 3, "sh": 1, "sw": 1, "dh": 1, "dw": 1, "pt": 0, "pl": 0, "pb": 0,
    "pr": 0, "g": 1, "act": 0, "act_a": 0.0, "act_b": 0.0, "residual": 0,
}  # fmt: skip
_SAME = {"pt": 1, "pl": 1, "pb": 1, "pr": 1}
_POINT = {"kh": 1, "kw": 1}
ACT = activation_codes()
_RELU = {"act": ACT["RELU"]}
_RELU6 = {"act": ACT["CLIP"], "act_a": 0.0, "act_b": 6.0}
PARAMETERS = {
    ACT["CLIP"]: (-0.5, 1.5), ACT["HARDSIGMOID"]: (0.2, 0.5), ACT["LEAKY_RELU"]: (0.1, 0.0),
    ACT["ELU"]: (0.7, 0.0),
}  # fmt: skip


def _depthwise(c, k=3, **more):
    return {"ic": c, "oc": c, "g": c, "kh": k, "kw": k, "h": 8, "w": 9, **more}


DENSE = [
    # Channel tails on both sides of the panel widths 8 and 16 and of the 4-wide k loop.
    *({"h": 3, "w": 5, "ic": ic, "oc": oc, **_POINT} for ic, oc in
      [(1, 1), (3, 5), (4, 8), (5, 9), (7, 16), (8, 17), (13, 24), (16, 33), (6, 40), (32, 31)]),
    *({"h": 4, "w": 5, "ic": ic, "oc": 19, **_SAME} for ic in (1, 2, 3, 4, 7, 16, 17, 20)),
    # Pixel counts around the tile heights, and more than one block of 96 pixels.
    *({"h": 1, "w": w, "ic": 8, "oc": 24, **_POINT} for w in (1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 23)),
    {"h": 17, "w": 13, "ic": 5, "oc": 10, **_SAME, **_RELU6},
    {"h": 15, "w": 14, "ic": 24, "oc": 24, "n": 2, **_POINT, **_RELU6},
    # Whole eights of channels, whose rows some kernels pack: strides, depths, the residual.
    {"h": 13, "w": 27, "ic": 40, "oc": 20, **_POINT, "sh": 2, "sw": 3, "residual": 2},
    {"h": 3, "w": 5, "ic": 24, "oc": 21, **_POINT, **_RELU, "residual": 1},
    # No activation and Relu as bounds (fuse/sharing.py).
    *({"h": 5, "w": 3, "ic": 6, "oc": 11, **_POINT, "act": ACT["CLIP"], "act_a": low, "act_b": inf}
      for low in (-inf, 0.0)),
    {"h": 15, "w": 16, "ic": 3, "oc": 32, "sh": 2, "sw": 2, **_SAME, **_RELU6},
    {"h": 20, "w": 21, "ic": 3, "oc": 12, "kh": 7, "kw": 7, "sh": 2, "sw": 2, "pt": 3, "pl": 3,
     "pb": 3, "pr": 3, **_RELU},
    # Asymmetric padding, one-sided padding, padding wider than the image, dilation, stride.
    {"h": 6, "w": 7, "ic": 4, "oc": 6, "pt": 2, "pr": 1, "sh": 2, "sw": 3},
    {"h": 6, "w": 7, "ic": 20, "oc": 6, "kh": 2, "kw": 4, "pb": 3, "pl": 2, "n": 2},
    {"h": 2, "w": 1, "ic": 3, "oc": 5, "pt": 3, "pb": 3, "pl": 4, "pr": 4},
    {"h": 2, "w": 1, "ic": 18, "oc": 5, "pt": 3, "pb": 3, "pl": 4, "pr": 4},
    {"h": 9, "w": 11, "ic": 3, "oc": 8, "dh": 2, "dw": 3, "pt": 2, "pl": 3},
    {"h": 9, "w": 11, "ic": 20, "oc": 8, "dh": 3, "dw": 2, "pr": 2},
    {"h": 9, "w": 4, "ic": 3, "oc": 8, "dh": 3, "kw": 1},
    {"h": 7, "w": 9, "ic": 12, "oc": 16, **_POINT, "sh": 2, "sw": 3, "pt": 1, "pr": 1},
    # Few channels: blocks that start at every column, narrow rows, as many border pixels as can be.
    *({"h": 41, "w": w, "ic": 2, "oc": 9, "kw": kw, "sw": sw, "pl": pl, "pr": pr, "n": 2}
      for w, kw, sw, pl, pr in
      [(11, 3, 1, 1, 1), (95, 3, 1, 1, 1), (97, 5, 1, 2, 2), (5, 5, 1, 4, 4), (12, 5, 2, 4, 3),
       (13, 3, 3, 2, 2), (2, 3, 1, 0, 1), (47, 9, 4, 8, 8)]),
    # As many channels out as in, blocks of 96 pixels that begin with a row: the output may begin
    # just as far before the input as the header says.
    *({"h": 9, "w": 32, "ic": c, "oc": c, **_SAME} for c in (5, 20)),
    {"h": 24, "w": 24, "ic": 18, "oc": 17, **_POINT},
    {"h": 13, "w": 64, "ic": 20, "oc": 20, "kh": 5, "pt": 2, "pb": 2, "n": 2},
    {"h": 1, "w": 1024, "ic": 1, "oc": 20, "kh": 1, "kw": 256, "sw": 128},
    {"h": 1, "w": 600, "ic": 1, "oc": 20, "kh": 1, "kw": 256, "sw": 96, "pl": 128, "pr": 128},
    # Blocks of 96 pixels by 16 channels: three by three, in one group and in two.
    {"h": 13, "w": 17, "ic": 3, "oc": 40, **_SAME},
    {"h": 14, "w": 16, "ic": 16, "oc": 88, "g": 2, **_SAME, "residual": 1},
    # Groups: whole panels, ragged panels, few channels (the reference's share), depth multiplier.
    {"h": 5, "w": 6, "ic": 16, "oc": 16, "g": 2, **_SAME, **_RELU6},
    {"h": 5, "w": 6, "ic": 15, "oc": 27, "g": 3, **_SAME},
    {"h": 5, "w": 6, "ic": 6, "oc": 4, "g": 2, **_SAME},
    {"h": 5, "w": 6, "ic": 3, "oc": 12, "g": 3, **_SAME},
    # Empty and single things.
    {"h": 4, "w": 4, "ic": 4, "oc": 8, "n": 0},
    {"h": 4, "w": 4, "ic": 4, "oc": 0},
    {"h": 4, "w": 4, "ic": 0, "oc": 3},
    {"h": 3, "w": 3, "ic": 1, "oc": 1},
    # Residual before and after the activation; every activation.
    *({"h": 3, "w": 5, "ic": 7, "oc": oc, **_POINT, "residual": r, **act}
      for oc in (16, 21) for r in (1, 2) for act in ({}, _RELU, _RELU6)),
    *({"h": 2, "w": 7, "ic": 5, "oc": 11, **_POINT, "act": ACT[act]}
      for act in ("SILU", "LEAKY_RELU", "GELU")),
]  # fmt: skip
# 3 x 3 at stride 1: images that end within a tile of 2, 4 or 6, at each of its outputs; more than a
# block of tiles, of rows, columns and images; more than a unit of 48 channels; depths that add up.
_TILED = [
    *({"h": h, "w": w, "ic": 6, "oc": 9, **_SAME}
      for h, w in [(1, 1), (2, 3), (4, 5), (6, 6), (7, 13), (8, 8), (13, 9), (19, 12), (11, 10)]),
    {"h": 25, "w": 31, "ic": 5, "oc": 53, **_SAME, **_RELU, "residual": 2},
    {"h": 23, "w": 37, "ic": 20, "oc": 98, **_SAME, **_RELU, "residual": 1},
    *({"h": 41, "w": w, "ic": 7, "oc": 7, "n": 2, **_SAME} for w in (3, 13, 29)),
    {"h": 100, "w": 3, "ic": 4, "oc": 4, "pl": 1, "pr": 1},
    {"h": 9, "w": 8, "ic": 17, "oc": 5, "pt": 4, "pb": 3, "pl": 5, "pr": 4},
    {"h": 7, "w": 9, "ic": 3, "oc": 4, "pt": 0, "pb": 2, "pl": 2, "n": 3},
    {"h": 13, "w": 11, "ic": 10, "oc": 70, "g": 2, **_SAME, **_RELU},
    {"h": 12, "w": 14, "ic": 160, "oc": 16, **_SAME},
]  # fmt: skip
# One tap, channels that split in two: one pixel, rows around the tiles of a half, odd numbers and
# more than a block of 96 pixels, more than a unit of 48 or 64 channels of each half, and its tails.
_SPLIT = [
    *({"h": 1, "w": w, "ic": 32, "oc": 96, **_POINT} for w in (1, 2, 9)),
    *({"h": 1, "w": w, "ic": 64, "oc": 128, **_POINT} for w in (1, 2, 3, 7, 9, 24, 49, 95, 97)),
    {"h": 14, "w": 14, "ic": 128, "oc": 192, **_POINT, **_RELU6},
    {"h": 13, "w": 15, "ic": 64, "oc": 64, "n": 2, **_POINT, **_RELU, "residual": 1},
    {"h": 5, "w": 5, "ic": 64, "oc": 256, "n": 3, **_POINT, **_RELU, "residual": 2},
    {"h": 7, "w": 7, "ic": 512, "oc": 64, **_POINT},
]  # fmt: skip
_DEPTHWISE = [
    *(_depthwise(c, **_SAME) for c in (1, 3, 4, 5, 8, 15, 16, 17, 24, 40)),
    *(_depthwise(c, sh=2, sw=2, **_SAME) for c in (1, 4, 7, 16, 20)),
    *(_depthwise(20, w=w, h=4, **_SAME) for w in (1, 2, 3, 4, 5, 6, 7, 13)),
    *(_depthwise(20, w=w, h=5, sh=2, sw=2, **_SAME) for w in (1, 2, 3, 4, 7, 10, 14, 17)),
    _depthwise(24, sh=2, sw=2, pb=1, pr=1, **_RELU6),
    _depthwise(24, n=2, **_SAME, **_RELU6),
    _depthwise(9, sh=1, sw=2, pt=1, pl=2),
    _depthwise(6, h=1, w=1, pt=3, pb=3, pl=4, pr=4),
    *(_depthwise(c, k=5, sh=s, sw=s, pt=2, pl=2, pb=2, pr=2) for c in (3, 16, 18) for s in (1, 2)),
    _depthwise(20, k=5, h=14, w=15, n=2, pt=2, pl=2, pb=2, pr=2, act=ACT["HARDSWISH"]),
    _depthwise(20, k=7, h=9, w=9, pt=3, pl=3, pb=3, pr=3, **_RELU),
    _depthwise(10, kw=1, sh=2, pt=1),
    # Tiles of eight pixels: none, one, one that begins earlier or has fewer; columns outside.
    *(
        _depthwise(c, k=7, h=4, w=w, pt=3, pl=3, pb=3, pr=3, residual=r)
        for c, w, r in [
            (5, 1, 0),
            (20, 5, 0),
            (72, 7, 1),
            (20, 8, 0),
            (65, 11, 0),
            (20, 11, 2),
            (8, 17, 0),
        ]
    ),
    _depthwise(20, kh=1, kw=7, h=3, w=25, pl=6, pr=1),
    _depthwise(20, kh=7, kw=7, h=9, w=19, sh=2, n=2, pt=3, pb=3, pl=9, pr=9),
    *(
        _depthwise(
            c,
            kh=kh,
            kw=kw,
            h=11,
            w=w,
            sh=s,
            sw=s,
            dh=d,
            dw=d,
            pt=kh // 2,
            pl=kw // 2,
            pr=kw // 2,
            residual=r,
        )
        for c, kh, kw, w, s, d, r in [
            (20, 7, 7, 37, 2, 1, 0),
            (8, 5, 9, 30, 1, 2, 1),
            (68, 9, 2, 10, 1, 1, 2),
            (20, 1, 5, 8, 1, 1, 0),
        ]
    ),
    _depthwise(10, kh=1, k=4, pl=1),
    _depthwise(10, dh=2, dw=3, pt=2, pl=1),
    # Heights around the rows of a block; dilation, whose rows and columns fall into phases; padding
    # as wide as the kernel reaches, on one side and on both; images narrower than the kernel.
    *(
        _depthwise(9, h=h, w=6, k=k, sh=s, sw=s, pt=1, pl=1, pb=1, pr=1)
        for h in (3, 4, 5, 6, 7, 10, 11)
        for k, s in ((3, 1), (3, 2), (5, 1), (5, 2))
    ),
    *(
        _depthwise(9, k=k, h=13, w=11, dh=dh, dw=dw, pt=dh, pl=dw, pb=dh, pr=dw)
        for k in (3, 5)
        for dh, dw in ((2, 2), (3, 1), (1, 4), (2, 5))
    ),
    *(
        _depthwise(5, k=k, w=w, sh=s, sw=s, pl=pl, pr=pr, pt=k - 1, pb=k - 1)
        for k, s, w, pl, pr in [
            (3, 1, 1, 2, 2),
            (3, 1, 1, 0, 2),
            (3, 1, 2, 2, 0),
            (3, 2, 1, 1, 2),
            (3, 2, 2, 0, 1),
            (5, 1, 1, 4, 4),
            (5, 1, 2, 1, 3),
            (5, 2, 1, 3, 4),
            (5, 2, 2, 2, 1),
            (5, 2, 8, 3, 0),
        ]
    ),
    _depthwise(0, **_SAME),
    _depthwise(8, n=0, **_SAME),
    *(
        _depthwise(c, k=k, **_SAME, residual=r, **_RELU)
        for c in (8, 11)
        for k in (3, 5)
        for r in (1, 2)
    ),
    *(_depthwise(11, h=4, **_SAME, act=ACT[act]) for act in ("HARDSWISH", "GELU_TANH")),
]


def _random(rng):
    """Anything at all: sizes, kernel, stride, dilation, padding on each side, groups."""
    names = {"h": 9, "w": 11, "kh": 4, "kw": 4, "sh": 3, "sw": 3, "dh": 2, "dw": 2, "n": 2}
    row = {name: int(rng.integers(1, most + 1)) for name, most in names.items()}
    row |= {side: int(rng.integers(0, 4)) for side in ("pt", "pl", "pb", "pr")}
    row["g"] = int(rng.integers(1, 4)) if rng.random() < 0.4 else 1
    row["ic"], row["oc"] = (row["g"] * int(rng.integers(1, 22)) for _ in range(2))
    if rng.random() < 0.3:
        row["g"] = row["oc"] = row["ic"]
    row["act"] = int(rng.choice([ACT["NONE"], ACT["RELU"]]))
    return row


_RANDOM = [_random(np.random.default_rng(seed)) for seed in range(40)]
CASES = DENSE + _TILED + _SPLIT + _DEPTHWISE + _RANDOM


def _has_half(row):
    """Whether there is a kernel in f16: not for groups of few channels, unless of one.

    Of a single output the error would be measured by itself.
    """
    groups = row.get("g", 1)
    if row["h"] == row["w"] == 3 and row["oc"] == 1:
        return False
    depthwise = groups == row["ic"] == row["oc"]
    return row["ic"] > 0 and (groups == 1 or depthwise or row["oc"] // groups >= 4)


# Every third row: what depends on places and sizes is that of the drivers, which f32 tests.
_SERVED = [row for row in CASES if _has_half(row)]
HALVES = _SERVED[1::3]
# Weights in bf16 need what f16 needs.
CASES += [{**row, "weights": ml_dtypes.bfloat16} for row in _SERVED[::3]]


def _extent(size, k, stride, dilation, pads):
    return max(0, (size + pads - dilation * (k - 1) - 1) // stride + 1)


def facts(row):
    a, b = PARAMETERS.get(row.get("act", 0), (0.0, 0.0))
    f = {**_DEFAULTS, "act_a": a, "act_b": b, **row}
    f["oh"] = _extent(f["h"], f["kh"], f["sh"], f["dh"], f["pt"] + f["pb"])
    f["ow"] = _extent(f["w"], f["kw"], f["sw"], f["dw"], f["pl"] + f["pr"])
    if f["g"] == 0:  # a depthwise convolution of no channels
        f["g"] = 1
    return f


def operands(f, rng):
    weight = (f["oc"], f["kh"], f["kw"], f["ic"] // f["g"])
    shapes = [(f["n"], f["h"], f["w"], f["ic"]), weight, (f["oc"],)]
    if f["residual"]:
        shapes.append((f["n"], f["oh"], f["ow"], f["oc"]))
    x, w, *rest = (rng.standard_normal(s).astype(np.float32) for s in shapes)
    return [x, w.astype(f.get("weights", np.float32)), *rest]


def activate(f, v):
    """The activation of megcc_act.h, in double."""
    a, b = (float(np.float32(f[k])) for k in ("act_a", "act_b"))
    sigmoid = 1 / (1 + np.exp(-v))
    tanh = np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3))
    erfs = np.vectorize(erf, otypes=[float])(v / np.sqrt(2)) if v.size else v
    table = {
        "NONE": v, "RELU": np.maximum(v, 0), "CLIP": np.minimum(np.maximum(v, a), b),
        "SIGMOID": sigmoid, "TANH": np.tanh(v), "SILU": v * sigmoid,
        "HARDSIGMOID": np.clip(a * v + b, 0, 1), "HARDSWISH": v * np.clip(v / 6 + 0.5, 0, 1),
        "LEAKY_RELU": np.where(v < 0, a * v, v), "GELU": v / 2 * (1 + erfs),
        "GELU_TANH": v / 2 * (1 + tanh), "ELU": np.where(v < 0, a * np.expm1(v), v),
    }  # fmt: skip
    return {ACT[name]: value for name, value in table.items()}[f["act"]]


def finish(f, v, residual):
    """Residual and activation in the order that fact `residual` says."""
    before, after = f["residual"] == 1, f["residual"] == 2
    v = activate(f, v + residual if before else v)
    return [(v + residual if after else v).astype(np.float32)]


def convolved(f, x, w):
    """The sums over taps, in the operands' own type."""
    n, oh, ow, g = f["n"], f["oh"], f["ow"], f["g"]
    x = np.pad(x, ((0, 0), (f["pt"], f["pb"]), (f["pl"], f["pr"]), (0, 0)))
    y = np.zeros((n, oh, ow, g, f["oc"] // g), x.dtype)
    w = w.reshape(g, f["oc"] // g, f["kh"], f["kw"], f["ic"] // g)
    for i in range(f["kh"]):
        for j in range(f["kw"]):
            top, left = i * f["dh"], j * f["dw"]
            taps = x[:, top :: f["sh"], left :: f["sw"]][:, :oh, :ow]
            taps = taps.reshape(n, oh, ow, g, f["ic"] // g)
            y += np.einsum("nhwgc,goc->nhwgo", taps, w[:, :, i, j])
    return y.reshape(n, oh, ow, f["oc"])


def reference(f, inputs):
    x, w, bias, *rest = [a.astype(np.float64) for a in inputs]
    return finish(f, convolved(f, x, w) + bias, rest[0] if rest else None)
