"""expand: repetition along any axes."""

from __future__ import annotations

from math import prod

import numpy as np
from cases.transpose import TYPES
from cases.transpose import operands as operands  # random elements of d0..d7

_ROWS = [
    ((), ()),
    ((), (37,)),
    ((5,), (5,)),
    ((17,), (3, 17)),
    ((3, 1), (3, 17)),
    ((2, 1, 3, 1), (2, 4, 3, 5)),
    ((1, 2, 1, 2, 1, 2, 1, 2), (2, 2, 2, 2, 2, 2, 2, 2)),
    ((1, 3), (0, 3)),
    ((1, 200), (100, 200)),
]
CASES = [
    *({"shape": s, "to": t} for s, t in _ROWS),
    *({"shape": (3, 1), "to": (2, 3, 9), "dtype": d} for d in TYPES),
]


def facts(row):
    shape, to = row.pop("shape"), row.pop("to")
    row.setdefault("dtype", "f32")
    f = {**row, "esize": np.dtype(TYPES[row["dtype"]]).itemsize, "size": prod(to)}
    f |= {f"d{i}": d for i, d in enumerate((1,) * (8 - len(shape)) + shape)}
    return f | {f"o{i}": d for i, d in enumerate((1,) * (8 - len(to)) + to)}


def reference(f, inputs):
    return [np.broadcast_to(inputs[0], [f[f"o{i}"] for i in range(8)])]
