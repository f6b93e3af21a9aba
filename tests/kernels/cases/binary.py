"""binary: every function, and every way in which two shapes can broadcast."""

from __future__ import annotations

from math import prod

import numpy as np

from tvm_megcc.kernels.contract import activation_codes, codes

FUNC = {name.lower(): code for name, code in codes("binary").items()}
_RELU, _CLIP = (activation_codes()[name] for name in ("RELU", "CLIP"))
_NAMES = {code: name for name, code in FUNC.items()}
TYPES = {
    "f32": np.float32, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16,
    "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64,
}  # fmt: skip
_SHAPES = [
    *(((n,), (n,)) for n in (0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33)),
    ((5, 17), ()),
    ((), (5, 17)),
    ((2, 3, 4, 9), (9,)),
    ((9,), (2, 3, 4, 9)),
    ((2, 5, 3, 7), (5, 1, 1)),
    ((2, 5, 3, 7), (2, 5, 1, 1)),
    ((2, 6, 5, 19), (2, 1, 1, 19)),
    ((2, 1, 3, 1), (1, 4, 1, 5)),
    ((1, 1, 7, 1), (3, 1, 2)),
    ((3, 0, 2), (1, 1, 2)),
    ((2, 1, 3, 1, 2, 1, 3, 1), (1, 2, 1, 3, 1, 2, 1, 3)),
    ((101, 99), (101, 99)),
    ((64, 1, 33), (64, 40, 33)),
]
_INTEGER = [FUNC[name] for name in ("add", "sub", "mul", "div", "min", "max")]
CASES = [
    *({"lhs": lhs, "rhs": rhs, "func": FUNC["sub"]} for lhs, rhs in _SHAPES),
    *({"lhs": (5, 21), "rhs": (21,), "func": code} for code in FUNC.values()),
    *({"lhs": (21,), "rhs": (21,), "func": FUNC[f]} for f in ("min", "max", "div", "pow")),
    {"lhs": (3, 21), "rhs": (3, 21), "func": FUNC["add"], "act": _RELU},
    {
        "lhs": (3, 21),
        "rhs": (1, 21),
        "func": FUNC["add"],
        "act": _CLIP,
        "act_a": -0.25,
        "act_b": 0.75,
    },
    *({"lhs": (4, 9), "rhs": (4, 1), "func": code, "dtype": "i32"} for code in _INTEGER),
    *({"lhs": (40,), "rhs": (40,), "func": FUNC["mul"], "dtype": d} for d in ("i8", "u16", "i64")),
    *({"lhs": (40,), "rhs": (40,), "func": FUNC["div"], "dtype": d} for d in ("i8", "u8", "i64")),
    {"lhs": (40,), "rhs": (40,), "func": FUNC["max"], "dtype": "u64"},
    {"lhs": (40,), "rhs": (), "func": FUNC["add"], "dtype": "i64"},
]
HALVES = [row for row in CASES if "dtype" not in row and row["func"] != FUNC["pow"]]


def padded(shape):
    return (1,) * (8 - len(shape)) + tuple(shape)


def facts(row):
    lhs, rhs = row.pop("lhs"), row.pop("rhs")
    f = {"dtype": "f32", "act": 0, "act_a": 0.0, "act_b": 0.0, **row}
    f |= {f"l{i}": d for i, d in enumerate(padded(lhs))} | {
        f"r{i}": d for i, d in enumerate(padded(rhs))
    }
    f["size"] = prod(np.broadcast_shapes(lhs, rhs))
    return f


def _shapes(f):
    return tuple(f[f"l{i}"] for i in range(8)), tuple(f[f"r{i}"] for i in range(8))


def operands(f, rng):
    shapes = _shapes(f)
    dtype = TYPES[f["dtype"]]
    if dtype != np.float32:
        info = np.iinfo(dtype)
        pair = [rng.integers(info.min, info.max, s, dtype, endpoint=True) for s in shapes]
        for k, value in enumerate((0, 1, info.max, info.min)):  # also as divisors, and min / -1
            pair[1].reshape(-1)[k : k + 1] = value
        if info.min:
            pair[0].reshape(-1)[4:5], pair[1].reshape(-1)[4:5] = info.min, -1
        return pair
    lhs, rhs = (rng.standard_normal(s).astype(np.float32) for s in shapes)
    if _NAMES[f["func"]] == "pow":
        lhs = np.abs(lhs)
    if _NAMES[f["func"]] in ("min", "max") and lhs.size == rhs.size == 21:
        lhs[..., 3], rhs[..., 5] = np.nan, np.nan
    return [lhs, rhs]


def _integer_quotient(lhs, rhs):
    divisor = np.where(rhs == 0, 1, rhs)
    if lhs.dtype.kind == "u":
        return np.where(rhs == 0, 0, lhs // divisor)
    remainder = np.fmod(lhs, np.where(divisor == -1, 1, divisor))
    exact = (lhs - remainder) // np.where(divisor == -1, 1, divisor)
    return np.where(rhs == 0, 0, np.where(divisor == -1, -lhs, exact))


def reference(f, inputs):
    lhs, rhs = inputs
    name = _NAMES[f["func"]]
    if f["dtype"] != "f32":
        lhs, rhs = np.broadcast_arrays(lhs, rhs)
        table = {
            "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": _integer_quotient,
            "min": np.minimum, "max": np.maximum,
        }  # fmt: skip
        return [table[name](lhs, rhs).astype(TYPES[f["dtype"]])]
    lhs, rhs = lhs.astype(np.float64), rhs.astype(np.float64)
    table = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
        "min": np.minimum, "max": np.maximum, "pow": np.power,
        "prelu": lambda x, s: np.where(x < 0, x * s, x),
    }  # fmt: skip
    y = table[name](lhs, rhs)
    if f["act"] == _RELU:
        y = np.maximum(y, 0)
    elif f["act"] == _CLIP:
        y = np.clip(y, f["act_a"], f["act_b"])
    return [y.astype(np.float32)]
