"""qconv2d: every kind of convolution of 8-bit integers, against sums in 64 bits, to the bit.

A row's ``x`` and ``y`` are types; ``weights`` says what they are drawn from.
"""

from __future__ import annotations

import numpy as np
from cases import conv2d
from cases.conv2d import activate

from tvm_megcc.kernels.contract import activation_codes, quantised_codes

ACT = activation_codes()
SUMS, REAL, STORED = (quantised_codes()[name] for name in ("SUMS", "REAL", "STORED"))
TYPES = {"i8": np.int8, "u8": np.uint8, "i32": np.int32, "f32": np.float32}
_SAME = {"pt": 1, "pl": 1, "pb": 1, "pr": 1}
_POINT = {"kh": 1, "kw": 1}
_WAYS = [
    {"x": "i8", "y": "i8"}, {"x": "u8", "y": "u8"}, {"x": "i8", "y": "u8"}, {"x": "u8", "y": "i8"},
]  # fmt: skip
#: What rows of convolutions are asked for, in turn.
_TURNS = [
    {},
    {"x": "u8", "y": "u8", "relu": 1},
    {"y": "f32", "channel_scales": 0},
    {"relu": 1},
    {"x": "u8", "y": "i32", "zero_operand": 1},
    {"y": "f32", "offset": 1, "act": ACT["RELU"]},
]


def _plain(row):
    return {k: v for k, v in row.items() if k not in ("act", "act_a", "act_b", "residual")}


#: The shapes of f32's rows: tails, pads, strides, dilations, groups and depthwise ones.
_SHAPES = [_plain(row) for row in conv2d.CASES]
_SHAPES = [row for k, row in enumerate(_SHAPES) if row not in _SHAPES[:k]]
CASES = [
    *({**row, **_TURNS[k % len(_TURNS)]} for k, row in enumerate(_SHAPES)),
    # Every pair of types, every output, on the usual shapes: one tap, nine, and depthwise.
    *({"h": 5, "w": 7, **shape, **way, **more}
      for shape in ({"ic": 19, "oc": 27, **_POINT}, {"ic": 9, "oc": 18, **_SAME},
                    {"ic": 21, "oc": 21, "g": 21, **_SAME})
      for way in _WAYS for more in ({}, {"offset": 1}, {"zero_operand": 1}, {"relu": 1})),
    *({"h": 4, "w": 5, "ic": 12, "oc": 10, **_SAME, "y": "f32", **more}
      for more in ({}, {"offset": 1}, {"channel_scales": 0}, {"zero_operand": 1, "x": "u8"},
                   {"act": ACT["HARDSWISH"]}, {"act": ACT["SIGMOID"], "offset": 1})),
    {"h": 4, "w": 5, "ic": 12, "oc": 10, **_SAME, "channel_scales": 0},
    {"h": 4, "w": 5, "ic": 12, "oc": 10, **_SAME, "y": "i32"},
    # The ends of the types: every product 128 * 128, deep sums of them, zero points at the ends.
    *({"h": 3, "w": 3, "ic": ic, "oc": 20, **shape, "x": x, "weights": weights, "point": point}
      for ic, shape in ((70, _POINT), (33, _SAME)) for x in ("i8", "u8")
      for weights in ("least", "narrow", "most") for point in ("low", "high")),
    *({"h": 3, "w": 5, "ic": 20, "oc": 20, "g": 20, **_SAME, "x": x, "weights": "least", "y": "i32",
       "point": point} for x in ("i8", "u8") for point in ("low", "high")),
    # Unsigned weights whose zero point is not the middle.
    *({"h": 5, "w": 6, **shape, "x": x, "w_zero": zero, "weights": "least" if zero < -9 else "any",
       **more}
      for shape in ({"ic": 19, "oc": 27, **_POINT}, {"ic": 9, "oc": 18, **_SAME},
                    {"ic": 21, "oc": 21, "g": 21, **_SAME})
      for x, zero, more in (("i8", -128, {"y": "i32"}), ("u8", 127, {}),
                            ("u8", -5, {"zero_operand": 1, "y": "f32"}))),
    {"h": 2, "w": 2, "ic": 2100, "oc": 9, **_POINT, "weights": "narrow", "y": "i32"},
    # Depthwise: rows of whole rotations of the kernel's columns and of any rest, cut at either end,
    # narrower than the kernel; several outputs for an input channel.
    *({"h": 6, "w": w, "ic": c, "oc": c, "g": c, "kh": k, "kw": k, "sh": s, "sw": s, "pt": k // 2,
       "pl": pl, "pb": k // 2, "pr": pr, "weights": "least" if w % 2 else "narrow"}
      for k, s, w, c, pl, pr in ((3, 1, 9, 24, 1, 1), (3, 1, 12, 33, 2, 0), (3, 1, 2, 16, 1, 1),
      (3, 2, 13, 24, 1, 1), (3, 2, 16, 33, 0, 1), (5, 1, 14, 24, 2, 2), (5, 1, 3, 33, 4, 3),
      (5, 2, 17, 24, 2, 2), (5, 2, 18, 17, 1, 2), (7, 1, 13, 24, 3, 3))),
    *({"h": 5, "w": 9, "ic": ic, "oc": oc, "g": ic, **_SAME, "sw": s}
      for ic, oc, s in ((6, 18, 1), (5, 10, 2), (12, 24, 1))),
    # Scales whose results are far beyond 8 bits, and far below one step; halves.
    *({"h": 3, "w": 4, "ic": 16, "oc": 17, **_POINT, "factor": f} for f in (1e-6, 0.5, 1e3, 1e30)),
]  # fmt: skip


def facts(row):
    f = conv2d.facts(_plain(row))
    f |= {"x": "i8", "y": "i8", "offset": 0, "zero_operand": 0, "act": 0, "channel_scales": 1,
          **row, "g": f["g"]}  # fmt: skip
    f["out"] = {"i32": SUMS, "f32": REAL}.get(f["y"], STORED)
    f["act_a"], f["act_b"] = conv2d.PARAMETERS.get(f["act"], (0.0, 0.0))
    f["channel_scales"] = f["channel_scales"] if f["out"] else 0
    f["narrow"] = int(row.get("weights") in (None, "narrow", "most") and not f.get("w_zero"))
    f.setdefault("w_zero", 0)
    return {**f, **points(f, "x_zero", "y_zero")}


def points(f, of_x, of_y):
    """Zero points and limits by a row's types."""
    low, high = _ends(f["x"])
    known = {"low": low, "high": high}.get(f.get("point"), low + 131)
    found = {of_x: 0 if f["zero_operand"] else known, of_y: 0, "low": 0, "high": 0}
    if f["out"] == STORED:
        low, high = _ends(f["y"])
        found |= {of_y: low + 100, "low": low + 100 if f.get("relu") else low, "high": high}
    return found


def _ends(dtype):
    info = np.iinfo(TYPES[dtype])
    return int(info.min), int(info.max)


def integers(rng, shape, dtype, row="any"):
    """Random integers: all of them, none that is -128 (``narrow``), or one of the ends only."""
    low, high = _ends(dtype)
    if row in ("least", "most"):
        return np.full(shape, low if row == "least" else high, TYPES[dtype])
    return rng.integers(low + (row == "narrow"), high, shape, TYPES[dtype], endpoint=True)


def rescaling(f, rng, channels, depth):
    """The operands behind the bias: scales that fill the output's range, offsets, a zero point."""
    given = []
    if f["out"]:
        factor = f.get("factor", 1.0 if f["out"] == STORED else 1 / 50) / (
            75 * max(1, depth) ** 0.5
        )
        count = channels if f["channel_scales"] else 1
        given.append((factor * rng.uniform(0.5, 1.5, count)).astype(np.float32))
    if f["offset"]:
        given.append((20 * rng.standard_normal(channels)).astype(np.float32))
    if f["zero_operand"]:
        given.append(integers(rng, (1,), f["x"]))
    return given


def operands(f, rng):
    extreme = f.get("weights") in ("least", "most")
    x = integers(rng, (f["n"], f["h"], f["w"], f["ic"]), f["x"], "least" if extreme else "any")
    icg = f["ic"] // f["g"]
    w = integers(rng, (f["oc"], f["kh"], f["kw"], icg), "i8", f.get("weights", "narrow"))
    depth = f["kh"] * f["kw"] * icg
    bias = rng.integers(-500, 500, f["oc"], np.int32)
    return [x, w, bias, *rescaling(f, rng, f["oc"], depth)]


def reference(f, inputs):
    x, w, bias, *rest = inputs
    centred = x.astype(np.int64) - (int(rest[-1][0]) if f["zero_operand"] else f["x_zero"])
    sums = conv2d.convolved(f, centred, w.astype(np.int64) - f["w_zero"]) + bias
    return [rescaled(f, sums, rest, f["y_zero"])]


def rescaled(f, sums, rest, zero):
    """i32 sums as ONNX rescales them: every step rounded to f32."""
    if f["out"] == SUMS:
        return sums.astype(np.int32)
    with np.errstate(over="ignore"):
        v = sums.astype(np.int32).astype(np.float32) * rest[0]
        v = v + rest[1] if f["offset"] else v
    if f["out"] == REAL:
        return activate(f, v.astype(np.float64)).astype(np.float32)
    return np.clip(np.rint(v).astype(np.float64) + zero, f["low"], f["high"]).astype(TYPES[f["y"]])
