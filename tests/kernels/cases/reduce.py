"""reduce: every function along contiguous and strided lines."""

from __future__ import annotations

import numpy as np

from tvm_megcc.kernels.contract import codes

FUNC = {name.lower(): code for name, code in codes("reduce").items()}
_NAMES = {code: name for name, code in FUNC.items()}
_SHAPES = [
    *((2, n, 1) for n in (1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 70)),
    *((2, 5, n) for n in (2, 3, 4, 5, 8, 15, 16, 17, 33)),
    (0, 5, 1), (2, 5, 0), (3, 0, 1), (3, 0, 4), (1, 9001, 1), (1, 300, 40),
]  # fmt: skip
CASES = [
    *({"outer": o, "axis": a, "inner": i, "func": 0} for o, a, i in _SHAPES),
    *(
        {"outer": 2, "axis": 19, "inner": inner, "func": code}
        for code in FUNC.values()
        for inner in (1, 21)
    ),
    *(
        {"outer": 3, "axis": axis, "inner": 5, "func": FUNC[name], "dtype": dtype}
        for name, dtypes in (
            ("sum", ("i32", "u8", "i64")),
            ("max", ("i32", "i8", "u8", "i64")),
            ("min", ("i8", "i64")),
            ("prod", ("i32",)),
        )
        for dtype in dtypes
        for axis in (0, 7)
    ),
]
#: Numbers above 0, of which one long sum is off by more than is allowed.
CASES += [
    {"outer": 1, "axis": axis, "inner": inner, "func": FUNC[name], "positive": 1}
    for name in ("sum", "mean")
    for axis, inner in ((400_000, 1), (20_000, 5))
]
HALVES = [row for row in CASES if not {"dtype", "positive"} & set(row)]
TYPES = {"f32": np.float32, "i8": np.int8, "u8": np.uint8, "i32": np.int32, "i64": np.int64}


def operands(f, rng):
    shape = f["outer"], f["axis"], f["inner"]
    dtype = TYPES[f["dtype"]]
    if dtype == np.float32:
        x = rng.uniform(0.5, 1.5, shape) if f.get("positive") else rng.standard_normal(shape)
        return [x.astype(np.float32)]
    info = np.iinfo(dtype)
    return [rng.integers(info.min, info.max, shape, dtype, endpoint=True)]


def reference(f, inputs):
    (x,) = inputs
    name, dtype = _NAMES[f["func"]], x.dtype
    if dtype.kind != "f":
        info = np.iinfo(dtype)
        table = {
            "sum": lambda: x.sum(1, dtype=dtype),
            "prod": lambda: x.prod(1, dtype=dtype),
            "max": lambda: x.max(1, initial=info.min),
            "min": lambda: x.min(1, initial=info.max),
        }
        return [table[name]().astype(dtype)]
    x = x.astype(np.float64)
    table = {
        "sum": lambda: x.sum(1),
        "mean": lambda: x.mean(1),
        "max": lambda: x.max(1, initial=-np.inf),
        "min": lambda: x.min(1, initial=np.inf),
        "prod": lambda: x.prod(1),
    }
    return [table[name]().astype(np.float32)]
