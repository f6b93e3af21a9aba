"""qresize2d: grids and coordinates, both ways of mixing, pairs of types, limits, to the bit."""

from __future__ import annotations

import numpy as np
from cases import resize2d
from cases.qconv2d import TYPES, integers

from tvm_megcc.kernels.contract import codes

EVEN, CUT = (codes("qresize2d")[name] for name in ("EVEN", "CUT"))
_PAIRS = [(x, y) for x in ("i8", "u8") for y in ("i8", "u8")]
#: Grids all of whose weights are sixteenths, by the coordinates of which that is true.
_SIXTEENTHS = {
    resize2d.HALF_PIXEL: [(3, 4, 6, 8), (3, 5, 12, 40), (8, 6, 4, 3), (4, 4, 4, 4), (8, 4, 1, 8)],
    resize2d.ASYMMETRIC: [(3, 2, 48, 4), (8, 6, 2, 3)],
    resize2d.ALIGN_CORNERS: [(3, 4, 33, 13), (9, 5, 3, 5)],
    resize2d.PYTORCH_HALF_PIXEL: [(4, 6, 1, 12)],
}
_GRIDS = [(3, 4, 5, 7), (7, 5, 3, 9), (5, 6, 1, 1), (1, 1, 4, 3), (6, 10, 9, 4)]
_OTHERS = [(coord, grid) for coord in resize2d.COORDINATES for grid in _GRIDS]
_EXACT = [(coord, grid) for coord, grids in _SIXTEENTHS.items() for grid in grids]
_WAYS = [{"scale": 0.77}, {"scale": 1.0}, {"scale": 1.0, "same": 1}, {"relu": 1},
         {"scale": 1.0, "same": 1, "relu": 1}]  # fmt: skip
_CHANNELS = (1, 3, 16, 13, 40)
_ROWS = [
    *({"coord": coord, "grid": grid, "sixteenths": 1} for coord, grid in _EXACT),
    *({"coord": coord, "grid": grid, "sixteenths": 0} for coord, grid in _OTHERS),
]
CASES = [
    *({**row, "c": _CHANNELS[k % 5], "n": 1 + k % 2, "x": x, "y": y, **_WAYS[(k + j) % 5]}
      for k, row in enumerate(_ROWS) for j, (x, y) in enumerate(_PAIRS)),
    *({**row, "c": _CHANNELS[k % 5], "x": x, "y": x, "round": CUT}
      for k, row in enumerate(_ROWS) for x in ("i8", "u8")),
    # The ends of the types: sums of 256 times 255; factors from small to large.
    *({"grid": grid, "coord": resize2d.HALF_PIXEL, "sixteenths": s, "c": 33, "x": x, "y": x,
       "ends": ends, "zero": zero, "scale": scale}
      for grid, s in (((3, 4, 6, 8), 1), ((3, 4, 5, 7), 0)) for x in ("i8", "u8")
      for ends in ("least", "most") for zero in ("min", "max") for scale in (1.0, 1e-6, 1e3)),
    {"grid": (3, 4, 6, 8), "coord": 0, "sixteenths": 1, "c": 16, "n": 0, "x": "i8", "y": "i8"},
]  # fmt: skip


def facts(row):
    f = {"n": 1, "round": EVEN, "scale": 1.3, **row}
    h, w, oh, ow = f.pop("grid")
    ends, held = np.iinfo(TYPES[f["y"]]), np.iinfo(TYPES[f["x"]])
    x_zero = {"min": held.min, "max": held.max}.get(f.get("zero"), held.min + 121)
    y_zero = x_zero if f.get("same") and f["x"] == f["y"] else int(ends.min) + 100
    if f["round"] == CUT:
        x_zero, y_zero, f["scale"] = 0, 0, 1.0
    return {
        **f, "h": h, "w": w, "oh": oh, "ow": ow, "x_zero": int(x_zero), "y_zero": int(y_zero),
        "low": int(y_zero) if f.get("relu") else int(ends.min), "high": int(ends.max),
        "scale": float(np.float32(f["scale"])),
    }  # fmt: skip


def operands(f, rng):
    return [integers(rng, (f["n"], f["h"], f["w"], f["c"]), f["x"], f.get("ends", "any"))]


def _mixed(x, axis, s, is_exact):
    s = np.clip(s, 0, x.shape[axis] - 1).astype(np.float32)
    lo = np.floor(s).astype(int)
    hi = np.minimum(lo + 1, x.shape[axis] - 1)
    weight = s - lo.astype(np.float32)
    assert not is_exact or (weight * 16 == np.rint(weight * 16)).all()
    weight = weight.reshape([-1 if i == axis else 1 for i in range(4)])
    a, b = x.take(lo, axis), x.take(hi, axis)
    return a + (b - a) * weight


def reference(f, inputs):
    x = (inputs[0].astype(int) - f["x_zero"]).astype(np.float32)
    for axis, size, out in ((1, "h", "oh"), (2, "w", "ow")):
        where = resize2d.sources(f[size], f[out], 0.0, f["coord"])
        x = _mixed(x, axis, where, f["sixteenths"])
    if f["round"] == CUT:
        return [np.trunc(x).astype(inputs[0].dtype)]
    steps = np.rint(x * np.float32(f["scale"])).astype(np.float64) + f["y_zero"]
    return [np.clip(steps, f["low"], f["high"]).astype(TYPES[f["y"]])]
