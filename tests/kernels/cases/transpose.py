"""transpose: all element sizes, layout changes, and permutations that merge to few axes."""

from __future__ import annotations

from itertools import permutations
from math import prod

import numpy as np

TYPES = {"i8": np.int8, "f16": np.float16, "f32": np.float32, "i64": np.int64, "bool": np.bool_}
_ROWS = [
    *(((2, 3, 4, 5), p) for p in permutations(range(4))),
    ((5,), (0,)),
    ((), ()),
    ((2, 0, 3), (2, 1, 0)),
    ((1, 1, 7), (2, 0, 1)),
    *(((rows, 21), (1, 0)) for rows in (1, 3, 4, 5, 8, 15, 16, 17, 70)),
    ((2, 3, 4, 3, 2, 3, 2, 3), (7, 1, 6, 3, 5, 0, 4, 2)),
]
CASES = [
    *({"shape": shape, "perm": perm} for shape, perm in _ROWS),
    *(
        {"shape": shape, "perm": perm, "dtype": dtype}
        for dtype in TYPES
        for shape, perm in (
            ((37, 50), (1, 0)),
            ((3, 5, 2, 7), (2, 0, 3, 1)),
            ((2, 8, 9), (0, 2, 1)),
            ((2, 77, 131), (0, 2, 1)),
            ((3, 2, 58), (0, 2, 1)),
            ((3, 58, 3), (0, 2, 1)),
        )
    ),
    {"shape": (2, 3, 67, 59), "perm": (0, 2, 3, 1)},
    {"shape": (1, 67, 59, 3), "perm": (0, 3, 1, 2)},
    {"shape": (2, 130, 66), "perm": (0, 2, 1)},
    # Two and three planes, pairs and triples; less than a tile of a plane.
    *({"shape": (2, n, 53), "perm": (0, 2, 1)} for n in (2, 3)),
    *({"shape": (2, 53, n), "perm": (0, 2, 1)} for n in (2, 3)),
    *({"shape": (n, 6, m), "perm": (2, 0, 1)} for n in (2, 3, 5) for m in (1, 2, 3)),
    {"shape": (1, 9, 12, 32), "perm": (0, 2, 1, 3)},
]


def facts(row):
    shape, perm = row.pop("shape"), row.pop("perm")
    front = 8 - len(shape)
    dims = (1,) * front + shape
    order = (*range(front), *(front + p for p in perm))
    row.setdefault("dtype", "f32")
    return {
        **row,
        "size": prod(shape),
        "esize": np.dtype(TYPES[row["dtype"]]).itemsize,
        **{f"d{i}": d for i, d in enumerate(dims)},
        **{f"p{i}": p for i, p in enumerate(order)},
    }


def operands(f, rng):
    shape = tuple(f[f"d{i}"] for i in range(8))
    data = rng.integers(0, 256, (*shape, f["esize"]), np.uint8)
    if f["dtype"] == "bool":
        data &= 1
    if f["dtype"] in ("f16", "f32"):
        data[..., -1] &= 0x3F  # no NaN
    return [data.view(TYPES[f["dtype"]]).reshape(shape)]


def reference(f, inputs):
    return [inputs[0].transpose([f[f"p{i}"] for i in range(8)])]
