"""matmul: tails, transposes, batches, constant and computed right-hand sides."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from cases.conv2d import ACT, PARAMETERS, finish

_SIZES = [
    (1, 1, 1), (1, 40, 7), (1, 17, 64), (2, 8, 3), (3, 16, 5), (4, 24, 9), (5, 33, 16), (6, 7, 12),
    (7, 9, 13), (12, 32, 8), (13, 31, 33), (23, 15, 20), (100, 5, 6), (9, 70, 4), (3, 4, 0),
    (0, 4, 5), (4, 0, 5), (49, 65, 30),
]  # fmt: skip
_RELU = {"act": ACT["RELU"]}
_RELU6 = {"act": ACT["CLIP"], "act_a": 0.0, "act_b": 6.0}
CASES = [
    *({"m": m, "n": n, "k": k, "rhs_const": c, "bias": c} for m, n, k in _SIZES for c in (0, 1)),
    *({"m": 7, "n": 19, "k": 10, "rhs_const": c, "trans_b": t, "bias": 1 - c}
      for c in (0, 1) for t in (0, 1)),
    *({"b": 3, "m": 5, "n": 37, "k": 8, "trans_b": t} for t in (0, 1)),
    {"b": 3, "m": 5, "n": 9, "k": 8, "lhs_stride": 0},
    {"b": 2, "m": 5, "n": 9, "k": 8, "rhs_stride": 0},
    {"b": 2, "m": 50, "n": 18, "k": 8, "rhs_const": 1, "bias": 1},
    # Every width of tile and every turn of its k loop: 24 + 24 + 11 columns, 24 + 16, 16 + 16.
    *({"m": 7, "n": n, "k": k, "rhs_const": c, "bias": 1}
      for n, k in ((59, 19), (40, 12), (32, 11)) for c in (0, 1)),
    # One row: every width of tile on every machine, and columns left over.
    *({"m": 1, "n": n, "k": 9, "rhs_const": 1, "bias": n % 2} for n in (1, 24, 61, 76, 131, 288)),
    {"b": 2, "m": 110, "n": 50, "k": 7, "rhs_const": 1, "bias": 1, "residual": 1, **_RELU},
    {"b": 0, "m": 5, "n": 9, "k": 8},
    *({"m": 4, "n": n, "k": 6, "rhs_const": c, "bias": 1, "residual": r, **act}
      for n in (16, 21) for c in (0, 1) for r in (1, 2) for act in (_RELU, _RELU6)),
    # Rows and columns that split in two: an odd number of rows, blocks of 96 rows of two batches, a
    # batch that is read twice.
    *({"m": m, "n": 128, "k": 64, "rhs_const": 1, "bias": c, "trans_b": c}
      for m in (1, 2, 11) for c in (0, 1)),
    {"b": 2, "m": 61, "n": 192, "k": 128, "rhs_const": 1, "bias": 1, "residual": 1, **_RELU},
    {"b": 2, "m": 5, "n": 64, "k": 64, "lhs_stride": 0, "rhs_const": 1, "residual": 2, **_RELU6},
    {"b": 2, "m": 3, "n": 21, "k": 6, "residual": 1},
    {"m": 1, "n": 50, "k": 6, "rhs_const": 1, "residual": 2, **_RELU},
    # Few rows, which read a computed rhs where it is: vectors by four, single ones, columns left.
    *({"b": 2, "m": m, "n": 61, "k": 11, "trans_b": t, "bias": 1, "residual": m, **_RELU6}
      for m in (1, 2) for t in (0, 1)),
    *({"m": 3, "n": 13, "k": 6, "rhs_const": 1, "act": ACT[act]} for act in ("SIGMOID", "GELU")),
]  # fmt: skip
# One row by a wide tile: every place in a turn of 16 k where the first one may begin.
_TURNS = [{"m": 1, "n": 50, "k": k, "rhs_const": 1, "bias": 1} for k in (8, 13, 22, 31, 32)]
CASES += _TURNS
HALVES = [*CASES[1::2], *_TURNS]
# Weights in bf16, which kernels take only as constants.
CASES += [{**row, "weights": ml_dtypes.bfloat16} for row in CASES if row.get("rhs_const")]


def facts(row):
    a, b = PARAMETERS.get(row.get("act", 0), (0.0, 0.0))
    f = {
        "b": 1, "trans_b": 0, "rhs_const": 0, "bias": 0, "act": 0, "act_a": a,
        "act_b": b, "residual": 0, **row,
    }  # fmt: skip
    batched = f["b"] != 1
    f.setdefault("lhs_stride", f["m"] * f["k"] if batched else 0)
    f.setdefault("rhs_stride", f["n"] * f["k"] if batched and not f["rhs_const"] else 0)
    return f


def operands(f, rng):
    m, n, k = f["m"], f["n"], f["k"]
    lhs = (f["b"] if f["lhs_stride"] else 1, m, k)
    rhs = (f["b"] if f["rhs_stride"] else 1, *((n, k) if f["trans_b"] else (k, n)))
    shapes = [lhs, rhs, *([(n,)] if f["bias"] else [])]
    if f["residual"]:
        shapes.append((f["b"], m, n))
    lhs, rhs, *rest = (rng.standard_normal(s).astype(np.float32) for s in shapes)
    return [lhs, rhs.astype(f.get("weights", np.float32)), *rest]


def reference(f, inputs):
    lhs, rhs, *rest = [a.astype(np.float64) for a in inputs]
    rhs = rhs.swapaxes(1, 2) if f["trans_b"] else rhs
    lhs, rhs = (np.broadcast_to(a, (f["b"], *a.shape[1:])) for a in (lhs, rhs))
    y = lhs @ rhs + (rest[0] if f["bias"] else 0)
    return finish(f, y, rest[-1] if f["residual"] else None)
