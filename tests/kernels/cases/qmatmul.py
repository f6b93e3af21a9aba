"""qmatmul: tails, transposes, batches, constant and computed right-hand sides, to the bit."""

from __future__ import annotations

import numpy as np
from cases import matmul
from cases.conv2d import PARAMETERS
from cases.qconv2d import ACT, REAL, STORED, SUMS, integers, points, rescaled, rescaling

#: What rows are asked for, in turn.
_TURNS = [
    {},
    {"x": "u8", "y": "u8", "relu": 1},
    {"y": "f32", "channel_scales": 0},
    {"x": "u8", "y": "i32"},
    {"y": "f32", "act": ACT["RELU"]},
]
_KEPT = ("b", "m", "n", "k", "lhs_stride", "rhs_stride", "rhs_const", "trans_b")
_SHAPES = [{k: row[k] for k in _KEPT if k in row} for row in matmul.CASES]
_SHAPES = [row for k, row in enumerate(_SHAPES) if row not in _SHAPES[:k]]
CASES = [
    *({**row, **_TURNS[k % len(_TURNS)]} for k, row in enumerate(_SHAPES)),
    *({"m": m, "n": n, "k": k, "rhs_const": 1, **turn}
      for m, n, k in ((1, 33, 70), (5, 27, 19), (30, 16, 64)) for turn in
      ({"x": "u8", "y": "i8"}, {"y": "u8", "offset": 1}, {"x": "u8", "zero_operand": 1, "y": "f32",
       "channel_scales": 0, "offset": 1}, {"x": "u8", "zero_operand": 1, "y": "i32"},
       {"y": "f32", "act": ACT["GELU"]})),
    *({"b": 2, "m": 9, "n": 21, "k": 35, "x": x, "r": r, "trans_b": t}
      for x in ("i8", "u8") for r in ("i8", "u8") for t in (0, 1)),
    *({"m": m, "n": 20, "k": 75, "rhs_const": c, "x": x, "weights": weights, "point": point}
      for m in (1, 6) for c in (0, 1) for x in ("i8", "u8")
      for weights, point in (("least", "low"), ("most", "high"), ("narrow", "high"))),
    *({"m": m, "n": 21, "k": 35, "rhs_const": 1, "x": x, "rhs_zero": zero, "weights": "any", **more}
      for m in (1, 6) for x, zero, more in (("i8", -128, {"y": "i32"}), ("u8", 127, {}),
                                            ("u8", -5, {"zero_operand": 1, "y": "f32"}))),
    *({"m": m, "n": 9, "k": 2100, "rhs_const": 1, "y": "i32"} for m in (1, 3)),
    *({"m": 4, "n": 17, "k": 16, "rhs_const": 1, "factor": f} for f in (1e-6, 0.5, 1e3, 1e30)),
]  # fmt: skip


def facts(row):
    f = matmul.facts({k: v for k, v in row.items() if k in _KEPT})
    f |= {"x": "i8", "y": "i8", "r": "i8", "offset": 0, "zero_operand": 0, "act": 0,
          "channel_scales": 1, **row}  # fmt: skip
    f["out"] = {"i32": SUMS, "f32": REAL}.get(f["y"], STORED)
    f["act_a"], f["act_b"] = PARAMETERS.get(f["act"], (0.0, 0.0))
    f["channel_scales"] = f["channel_scales"] if f["out"] else 0
    f["bias"] = f["rhs_const"]
    narrow = row.get("weights") in (None, "narrow", "most") and not f.get("rhs_zero")
    f["narrow"] = int(f["rhs_const"] and narrow)
    f.setdefault("rhs_zero", 0 if f["rhs_const"] else {"i8": -3, "u8": 125}[f["r"]])
    return {**f, **points(f, "lhs_zero", "dst_zero")}


def operands(f, rng):
    m, n, k = f["m"], f["n"], f["k"]
    extreme = f.get("weights") in ("least", "most")
    lhs = (f["b"] if f["lhs_stride"] else 1, m, k)
    rhs = (f["b"] if f["rhs_stride"] else 1, *((n, k) if f["trans_b"] else (k, n)))
    given = [integers(rng, lhs, f["x"], "least" if extreme else "any")]
    given.append(integers(rng, rhs, f["r"], f.get("weights", "narrow")))
    if f["bias"]:
        given.append(rng.integers(-500, 500, n, np.int32))
    return [*given, *rescaling(f, rng, n, k)]


def reference(f, inputs):
    lhs, rhs, *rest = inputs
    lhs = lhs.astype(np.int64)
    zero = int(rest[-1][0]) if f["zero_operand"] else f["lhs_zero"]
    rhs = rhs.astype(np.int64) - f["rhs_zero"]
    rhs = rhs.swapaxes(1, 2) if f["trans_b"] else rhs
    lhs, rhs = (np.broadcast_to(a, (f["b"], *a.shape[1:])) for a in (lhs - zero, rhs))
    sums = lhs @ rhs + (rest.pop(0) if f["bias"] else 0)
    return [rescaled(f, sums, rest, f["dst_zero"])]
