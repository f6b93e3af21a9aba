"""argreduce: first and last of equal values, contiguous and strided."""

from __future__ import annotations

import numpy as np

from tvm_megcc.kernels.contract import codes

MAX, MIN = (codes("argreduce")[name] for name in ("MAX", "MIN"))
TYPES = {"f32": np.float32, "u8": np.uint8, "i64": np.int64}
CASES = [
    *(
        {"outer": o, "axis": a, "inner": i, "func": func, "last": last}
        for func in (MAX, MIN)
        for last in (0, 1)
        for o, a, i in ((2, 17, 1), (2, 6, 5), (1, 1, 3), (0, 4, 2), (3, 1001, 1))
    ),
    *({"outer": 2, "axis": 9, "inner": 3, "func": MAX, "last": 0, "dtype": d} for d in TYPES),
]


def operands(f, rng):
    shape = f["outer"], f["axis"], f["inner"]
    return [rng.integers(0, 7, shape).astype(TYPES[f["dtype"]])]  # many equal values


def reference(f, inputs):
    (x,) = inputs
    find = np.argmax if f["func"] == MAX else np.argmin
    if f["last"]:
        return [(f["axis"] - 1 - find(x[:, ::-1], 1)).astype(np.int64)]
    return [find(x, 1).astype(np.int64)]
