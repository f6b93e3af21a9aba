"""where: broadcasting of three operands."""

from __future__ import annotations

from math import prod

import numpy as np

TYPES = {"u8": np.uint8, "f16": np.float16, "f32": np.float32, "i64": np.int64}
_ROWS = [
    ((17,), (17,), (17,)),
    ((3, 17), (), (3, 17)),
    ((3, 1), (17,), ()),
    ((), (2, 3), (3,)),
    ((2, 1, 4, 1), (1, 3, 1, 5), (4, 1)),
    ((0, 3), (3,), (1, 3)),
    ((), (), ()),
    ((1, 1, 50, 50), (4, 8, 50, 50), ()),
]
CASES = [
    *({"c": c, "x": x, "y": y} for c, x, y in _ROWS),
    *({"c": (5, 1), "x": (5, 9), "y": (9,), "dtype": d} for d in TYPES),
]


def facts(row):
    shapes = [row.pop(k) for k in "cxy"]
    row.setdefault("dtype", "f32")
    f = {**row, "esize": np.dtype(TYPES[row["dtype"]]).itemsize}
    for name, shape in zip("cxy", shapes, strict=True):
        f |= {f"{name}{i}": d for i, d in enumerate((1,) * (8 - len(shape)) + shape)}
    f["size"] = prod(np.broadcast_shapes(*shapes))
    return f


def operands(f, rng):
    c, x, y = (tuple(f[f"{name}{i}"] for i in range(8)) for name in "cxy")
    dtype = TYPES[f["dtype"]]
    values = (rng.integers(0, 100, s).astype(dtype) for s in (x, y))
    return [rng.integers(0, 2, c).astype(np.bool_), *values]


def reference(f, inputs):
    return [np.where(*inputs)]
