"""pool2d: windows of every shape, against a loop over taps."""

from __future__ import annotations

from itertools import product
from math import ceil

import numpy as np

from tvm_megcc.kernels.contract import codes

MAX, AVG = (codes("pool2d")[name] for name in ("MAX", "AVG"))

_DEFAULTS = {
    "n": 1, "kh": 3, "kw": 3, "sh": 1, "sw": 1, "dh": 1, "dw": 1, "pt": 0, "pl": 0, "pb": 0,
    "pr": 0, "count_include_pad": 0, "func": MAX, "ceil": 0,
}  # fmt: skip
_SHAPES = [
    *({"h": 5, "w": 4, "c": c} for c in (1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 70)),
    {"h": 1, "w": 1, "c": 8, "kh": 1, "kw": 1},
    {"h": 6, "w": 7, "c": 5, "sh": 2, "sw": 3, "pt": 1, "pl": 1, "pb": 1, "pr": 1},
    {"h": 6, "w": 7, "c": 18, "n": 2, "kh": 2, "kw": 4, "sh": 2, "pl": 2, "pr": 1},
    {"h": 9, "w": 8, "c": 6, "dh": 2, "dw": 3, "pt": 2, "pb": 1, "pl": 2, "pr": 2},
    {"h": 7, "w": 7, "c": 4, "sh": 2, "sw": 2, "ceil": 1, "kh": 2, "kw": 2},
    {"h": 8, "w": 10, "c": 4, "sh": 3, "sw": 4, "ceil": 1, "pt": 1, "pb": 1, "pl": 1, "pr": 1},
    {"h": 8, "w": 9, "c": 3, "dh": 2, "dw": 2, "sh": 3, "sw": 3, "ceil": 1, "pb": 1, "pr": 1},
    {"h": 5, "w": 5, "c": 3, "n": 0},
    {"h": 5, "w": 5, "c": 0},
    {"h": 57, "w": 56, "c": 24, "sh": 2, "sw": 2, "pt": 1, "pb": 1, "pl": 1, "pr": 1},
]
CASES = [
    {**shape, "func": func, "count_include_pad": pad}
    for shape, (func, pad) in product(_SHAPES, ((MAX, 0), (AVG, 0), (AVG, 1)))
    if func == MAX or pad == 0 or "pt" in shape or "pb" in shape or "pl" in shape
]
HALVES = CASES[::2]
#: Maxima of bytes.
CASES += [
    {**shape, "bytes": dtype}
    for k, shape in enumerate(_SHAPES)
    for dtype in (("int8", "uint8") if k % 3 == 0 else ("int8",) if k % 3 == 1 else ("uint8",))
]


def _extent(size: int, k: int, stride: int, dilation: int, pads: int, ceil_mode: int) -> int:
    span = size + pads - dilation * (k - 1) - 1
    out = (ceil(span / stride) if ceil_mode else span // stride) + 1
    return out


def facts(row):
    f = {**_DEFAULTS, **row}
    up = f.pop("ceil")
    f["oh"] = _extent(f["h"], f["kh"], f["sh"], f["dh"], f["pt"] + f["pb"], up)
    f["ow"] = _extent(f["w"], f["kw"], f["sw"], f["dw"], f["pl"] + f["pr"], up)
    # A last window that starts in the padding behind the image is dropped, as ONNX says.
    f["oh"] -= (f["oh"] - 1) * f["sh"] >= f["h"] + f["pt"]
    f["ow"] -= (f["ow"] - 1) * f["sw"] >= f["w"] + f["pl"]
    return f


def operands(f, rng):
    shape = (f["n"], f["h"], f["w"], f["c"])
    if "bytes" in f:
        info = np.iinfo(f["bytes"])
        return [rng.integers(info.min, info.max, shape, f["bytes"], endpoint=True)]
    return [rng.standard_normal(shape).astype(np.float32)]


def reference(f, inputs):
    (x,) = inputs
    if f["func"] == MAX:
        return [_pooled(f, x, -np.inf, np.maximum).astype(x.dtype)]
    sums, count = sums_and_counts(f, x)
    return [(sums / count[None, :, :, None]).astype(x.dtype)]


def sums_and_counts(f, x):
    """The sum of every window, and the number of its elements that count for an average."""
    sides = ((0, 0), (f["pt"], f["pb"]), (f["pl"], f["pr"]), (0, 0))
    # Padding counts when asked for; what is outside of it never does.
    inside = np.pad(np.ones((1, *x.shape[1:3], 1)), sides, constant_values=f["count_include_pad"])
    count = _windows(f, inside, 0.0, np.add)[0, :, :, 0]
    return _pooled(f, x, 0.0, np.add), count


def _pooled(f, x, empty, combine):
    sides = ((0, 0), (f["pt"], f["pb"]), (f["pl"], f["pr"]), (0, 0))
    return _windows(f, np.pad(x.astype(np.float64), sides, constant_values=empty), empty, combine)


def _windows(f, padded, empty, combine):
    """Windows over a padded image, `empty` behind it, one tap after the other."""
    far = ((0, 0), (0, f["oh"] * f["sh"] + f["kh"] * f["dh"]),
           (0, f["ow"] * f["sw"] + f["kw"] * f["dw"]), (0, 0))  # fmt: skip
    values = np.pad(padded, far, constant_values=empty)
    out = np.full((len(padded), f["oh"], f["ow"], padded.shape[3]), empty)
    for i, j in product(range(f["kh"]), range(f["kw"])):
        rows = slice(i * f["dh"], i * f["dh"] + f["oh"] * f["sh"], f["sh"])
        cols = slice(j * f["dw"], j * f["dw"] + f["ow"] * f["sw"], f["sw"])
        out = combine(out, values[:, rows, cols])
    return out
