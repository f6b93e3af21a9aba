"""slice: steps of either sign along any axes."""

from __future__ import annotations

from math import prod

import numpy as np
from cases.transpose import TYPES
from cases.transpose import operands as operands  # random elements of d0..d7

_ROWS = [
    ((20,), (slice(3, 17),)),
    ((20,), (slice(17, 2, -3),)),
    ((20,), (slice(5, 5),)),
    ((), ()),
    ((4, 33), (slice(None), slice(1, 30))),
    ((4, 5, 6), (slice(1, 3), slice(None), slice(None))),
    ((4, 5, 6), (slice(None), slice(1, 4), slice(None))),
    ((4, 5, 6), (slice(None, None, -1), slice(0, 5, 2), slice(5, 0, -2))),
    ((2, 9, 9, 3), (slice(None), slice(0, 9, 2), slice(1, 9, 2), slice(None))),
    ((2, 3, 2, 3, 2, 3, 2, 3), tuple(slice(None, None, -1) for _ in range(8))),
    ((0, 4), (slice(None), slice(1, 3))),
    ((70, 301), (slice(1, 69), slice(2, 300))),
]
CASES = [
    *({"shape": s, "cut": c} for s, c in _ROWS),
    *({"shape": (5, 40), "cut": (slice(1, 4), slice(38, 1, -3)), "dtype": d} for d in TYPES),
]


def facts(row):
    shape, cut = row.pop("shape"), row.pop("cut")
    row.setdefault("dtype", "f32")
    front = 8 - len(shape)
    ranges = [range(1)] * front + [range(n)[c] for n, c in zip(shape, cut, strict=True)]
    f = {**row, "esize": np.dtype(TYPES[row["dtype"]]).itemsize}
    for i, (n, r) in enumerate(zip((1,) * front + shape, ranges, strict=True)):
        f |= {f"d{i}": n, f"b{i}": r.start if len(r) else 0, f"s{i}": r.step, f"o{i}": len(r)}
    f["size"] = prod(f[f"o{i}"] for i in range(8))
    return f


def reference(f, inputs):
    (x,) = inputs
    for i in range(8):
        x = x.take(f[f"b{i}"] + np.arange(f[f"o{i}"]) * f[f"s{i}"], axis=i)
    return [x]
