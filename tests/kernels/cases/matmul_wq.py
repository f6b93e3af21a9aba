"""matmul_wq: 4 and 8 bits, blocks and tails of blocks, zero points, one row and several."""

from __future__ import annotations

import numpy as np
from cases.conv2d import ACT, PARAMETERS, finish

from tests.int8_rows import rounded

_RELU = {"act": ACT["RELU"]}
_RELU6 = {"act": ACT["CLIP"], "act_a": 0.0, "act_b": 6.0}
_SIZES = [
    (1, 1, 1, 1), (1, 16, 7, 7), (1, 33, 64, 32), (1, 5, 40, 16), (1, 70, 33, 16), (2, 17, 9, 4),
    (4, 24, 21, 7), (7, 59, 19, 19), (13, 31, 64, 16), (100, 40, 6, 2), (3, 16, 5, 1), (0, 4, 5, 5),
]  # fmt: skip
CASES = [
    *({"m": m, "n": n, "k": k, "block": b, "bits": bits, "zero": z, "bias": n % 2}
      for m, n, k, b in _SIZES for bits in (4, 8) for z in (0, 1)),
    # One scale, and one zero point, for all.
    *({"m": m, "n": 21, "k": 30, "block": 30, "bits": bits, "zero": z, "channel_scales": 0}
      for m in (1, 5) for bits in (4, 8) for z in (0, 1)),
    *({"m": m, "n": 37, "k": 32, "block": 16, "bits": 4, "bias": 1, "residual": r, **act}
      for m in (1, 2, 6) for r in (1, 2) for act in (_RELU, _RELU6)),
    *({"m": m, "n": 13, "k": 6, "block": 6, "bits": 8, "act": ACT["GELU"]} for m in (1, 3)),
    # All weights are the least, or the greatest, number there is.
    *({"m": m, "n": 20, "k": 70, "block": 32, "bits": bits, "zero": 1, "weights": end}
      for m in (1, 4) for bits in (4, 8) for end in ("least", "most")),
]  # fmt: skip
#: Rows that become int8: blocks of steps of 16, or one block; tiles of rows and what they leave.
_INT8_SIZES = [
    (1, 1, 1, 1), (1, 17, 7, 7), (1, 33, 64, 32), (1, 16, 40, 16), (1, 70, 33, 16), (2, 17, 9, 9),
    (3, 5, 80, 64), (4, 24, 21, 21), (5, 30, 288, 256), (6, 8, 96, 32), (7, 59, 100, 32),
    (101, 19, 48, 16), (0, 4, 16, 16),
]  # fmt: skip
_INT8 = [
    *({"m": m, "n": n, "k": k, "block": b, "bits": bits, "zero": z}
      for m, n, k, b in _INT8_SIZES for bits in (4, 8) for z in (0, 1)),
    *({"m": m, "n": 21, "k": 30, "block": 30, "bits": bits, "zero": int(bits == 4),
       "channel_scales": 0}
      for m in (1, 5) for bits in (4, 8)),
    *({"m": m, "n": 37, "k": 32, "block": 16, "bits": 4, "residual": r, **act}
      for m in (1, 4, 6) for r, act in ((1, _RELU), (2, _RELU6))),
    # Sums are as large as they can be, or rows have zeros and numbers that are not finite.
    *({"m": m, "n": 20, "k": 96, "block": 32, "bits": bits, "zero": z, "weights": end,
       "rows": "ends"}
      for m in (1, 4) for bits in (4, 8) for z in (0, 1) for end in ("least", "most")),
    *({"m": m, "n": 20, "k": 96, "block": 32, "bits": 4, "zero": 1, "rows": "odd"} for m in (1, 4)),
]  # fmt: skip
HALVES = CASES[::2]  # scales in f16, too
#: Scales in f32 beside f16.
CASES += [{**row, "half": 1} for row in CASES[1::4]]
_INT8 = [{**row, "bias": int(row["bits"] == 4), "int8": 1} for row in _INT8]
HALVES += [row for row in _INT8 if row["n"] in (59, 70)]
CASES += [*_INT8, *({**row, "half": 1} for row in _INT8 if row["n"] == 30)]


def facts(row):
    a, b = PARAMETERS.get(row.get("act", 0), (0.0, 0.0))
    return {
        "bias": 0, "act": 0, "act_a": a, "act_b": b, "residual": 0, "zero": 0, "channel_scales": 1,
        "int8": 0, **row,
    }  # fmt: skip


def _rows(f, rng):
    m, k, b = f["m"], f["k"], f["block"]
    rows = rng.standard_normal((m, k)).astype(np.float32)
    if f.get("rows") == "ends":
        rows = np.where(rows < -1, -1, 1).astype(np.float32)
    elif f.get("rows") == "odd":
        rows[0, b:] = 0
        rows[0, 0] = 1e-40
        rows[-1, :2] = np.inf, np.nan if m > 1 else 3
        rows[m // 2, 2 * b] = np.nan
    return rows


def operands(f, rng):
    m, n, k = f["m"], f["n"], f["k"]
    low, high = (-8, 7) if f["bits"] == 4 else (-128, 127)
    ends = {"least": (low, low), "most": (high, high)}.get(f.get("weights"), (low, high))
    count = n * -(-k // f["block"]) if f["channel_scales"] else 1
    given = [
        _rows(f, rng),
        rng.integers(ends[0], ends[1], (n, k), np.int8, endpoint=True),
        rng.uniform(0.01, 0.02, count).astype(np.float32),
    ]
    if f["zero"]:
        given.append(rng.integers(low, high, count, np.int8, endpoint=True))
    if f["bias"]:
        given.append(rng.standard_normal(n).astype(np.float32))
    if f["residual"]:
        given.append(rng.standard_normal((m, n)).astype(np.float32))
    if f.get("half"):
        given = [a.astype(np.float16) if a.dtype == np.float32 and k != 2 else a
                 for k, a in enumerate(given)]  # fmt: skip
    return given


def reference(f, inputs):
    lhs, rhs, scale, *rest = inputs
    zero = rest.pop(0) if f["zero"] else np.zeros(scale.size, np.int8)
    blocks = -(-f["k"] // f["block"])
    spread = [
        np.repeat(np.broadcast_to(a.reshape(-1, blocks), (f["n"], blocks)), f["block"], axis=1)
        for a in (zero.astype(np.int64), scale.astype(np.float64))
    ]
    spread_zero, spread_scale = (a[:, : f["k"]] for a in spread)
    weights = (rhs.astype(np.int64) - spread_zero) * spread_scale
    rows = rounded(lhs, f["block"]) if f["int8"] else lhs.astype(np.float64)
    sums = rows @ weights.T + (rest.pop(0) if f["bias"] else 0)
    found = finish(f, sums, rest[0] if f["residual"] else None)
    return [a.astype(lhs.dtype) for a in found]
