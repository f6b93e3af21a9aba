"""pad: every mode, every element size, cuts."""

from __future__ import annotations

from math import prod

import numpy as np
from cases.transpose import TYPES
from cases.transpose import operands as operands  # random elements of d0..d7

from tvm_megcc.kernels.contract import codes

CONSTANT, EDGE, REFLECT, WRAP = (
    codes("pad")[name] for name in ("CONSTANT", "EDGE", "REFLECT", "WRAP")
)
_NUMPY = {CONSTANT: "constant", EDGE: "edge", REFLECT: "reflect", WRAP: "wrap"}
_ROWS = [
    ((9,), ((2, 3),)),
    ((9,), ((0, 0),)),
    ((1,), ((4, 5),)),
    ((4, 5), ((1, 2), (3, 1))),
    ((2, 5, 6, 3), ((0, 0), (1, 2), (2, 1), (0, 0))),
    ((2, 3, 5, 6), ((0, 0), (0, 0), (1, 1), (1, 1))),
    ((2, 3, 2, 3, 2, 3, 2, 3), ((1, 1), (0, 0)) * 4),
    ((5, 6), ((-1, 2), (1, -2))),
]
CASES = [
    *({"shape": s, "pads": p, "mode": m} for m in _NUMPY for s, p in _ROWS),
    {"shape": (3,), "pads": ((7, 8),), "mode": REFLECT},
    {"shape": (3,), "pads": ((7, 8),), "mode": WRAP},
    {"shape": (0, 3), "pads": ((1, 1), (0, 1)), "mode": CONSTANT},
    {"shape": (0, 3), "pads": ((0, 0), (0, 1)), "mode": CONSTANT},
    *({"shape": (4, 7), "pads": ((1, 1), (2, 3)), "mode": CONSTANT, "dtype": d} for d in TYPES),
    {"shape": (1, 56, 57, 8), "pads": ((0, 0), (1, 1), (1, 1), (0, 0)), "mode": CONSTANT},
]


def facts(row):
    shape, pads = row.pop("shape"), row.pop("pads")
    row.setdefault("dtype", "f32")
    esize = np.dtype(TYPES[row["dtype"]]).itemsize
    front = 8 - len(shape)
    f = {**row, "esize": esize, "value_lo": 0x3F010101, "value_hi": -7}
    for i, (d, (a, z)) in enumerate(
        zip((1,) * front + shape, ((0, 0),) * front + pads, strict=True)
    ):
        f |= {f"d{i}": d, f"a{i}": a, f"z{i}": z}
    f["size"] = prod(f[f"d{i}"] + f[f"a{i}"] + f[f"z{i}"] for i in range(8))
    return f


def reference(f, inputs):
    (x,) = inputs
    fill = (f["value_lo"] & 0xFFFFFFFF) | (f["value_hi"] & 0xFFFFFFFF) << 32
    value = np.array([fill & (1 << 8 * f["esize"]) - 1], f"u{f['esize']}").view(x.dtype)[0]
    pads = [(f[f"a{i}"], f[f"z{i}"]) for i in range(8)]
    more = [(max(a, 0), max(z, 0)) for a, z in pads]
    options = {"constant_values": value} if f["mode"] == CONSTANT else {}
    y = np.pad(x, more, _NUMPY[f["mode"]], **options)
    cuts = (slice(max(-a, 0), n - max(-z, 0)) for (a, z), n in zip(pads, y.shape, strict=True))
    return [y[tuple(cuts)]]
