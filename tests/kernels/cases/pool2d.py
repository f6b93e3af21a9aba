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
    return [rng.standard_normal((f["n"], f["h"], f["w"], f["c"])).astype(np.float32)]


def reference(f, inputs):
    (x,) = inputs
    # Three kinds of place: image, padding (counts when asked for), and outside (never counts).
    image = np.pad(np.ones(x.shape[1:3]), ((f["pt"], 0), (f["pl"], 0)))
    padded = np.pad(
        np.ones(x.shape[1:3]), ((f["pt"], f["pb"]), (f["pl"], f["pr"])), constant_values=1
    )
    empty = -np.inf if f["func"] == MAX else 0.0
    far_h = f["oh"] * f["sh"] + f["kh"] * f["dh"]
    far_w = f["ow"] * f["sw"] + f["kw"] * f["dw"]
    values = np.full((f["n"], f["h"] + f["pt"] + far_h, f["w"] + f["pl"] + far_w, f["c"]), empty)
    values[:, f["pt"] : f["pt"] + f["h"], f["pl"] : f["pl"] + f["w"]] = x
    counts = np.zeros(values.shape[1:3])
    source = padded if f["count_include_pad"] else image
    counts[: source.shape[0], : source.shape[1]] = source
    out = np.full((f["n"], f["oh"], f["ow"], f["c"]), empty)
    count = np.zeros((f["oh"], f["ow"]))
    for i, j in product(range(f["kh"]), range(f["kw"])):
        rows = slice(i * f["dh"], i * f["dh"] + f["oh"] * f["sh"], f["sh"])
        cols = slice(j * f["dw"], j * f["dw"] + f["ow"] * f["sw"], f["sw"])
        tap = values[:, rows, cols]
        out = np.maximum(out, tap) if f["func"] == MAX else out + tap
        count += counts[rows, cols]
    if f["func"] == AVG:
        out = out / count[None, :, :, None]
    return [out.astype(np.float32)]
