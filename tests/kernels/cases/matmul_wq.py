"""matmul_wq: 4 and 8 bits, blocks and tails of blocks, zero points, one row and several."""

from __future__ import annotations

import numpy as np
from cases.conv2d import ACT, PARAMETERS, finish

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
HALVES = CASES[::2]  # scales in f16, too
#: Scales in f32 beside f16.
CASES += [{**row, "half": 1} for row in CASES[1::4]]


def facts(row):
    a, b = PARAMETERS.get(row.get("act", 0), (0.0, 0.0))
    return {
        "bias": 0, "act": 0, "act_a": a, "act_b": b, "residual": 0, "zero": 0, "channel_scales": 1,
        **row,
    }  # fmt: skip


def operands(f, rng):
    m, n, k = f["m"], f["n"], f["k"]
    low, high = (-8, 7) if f["bits"] == 4 else (-128, 127)
    ends = {"least": (low, low), "most": (high, high)}.get(f.get("weights"), (low, high))
    count = n * -(-k // f["block"]) if f["channel_scales"] else 1
    given = [
        rng.standard_normal((m, k)).astype(np.float32),
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
    sums = lhs.astype(np.float64) @ weights.T + (rest.pop(0) if f["bias"] else 0)
    found = finish(f, sums, rest[0] if f["residual"] else None)
    return [a.astype(lhs.dtype) for a in found]
