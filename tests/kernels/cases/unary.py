"""unary: every function over its interesting range, against NumPy in double."""

from __future__ import annotations

from math import erf

import numpy as np

from tvm_megcc.kernels.contract import activation_codes, codes

FUNC = {name.lower(): code for name, code in {**activation_codes(), **codes("unary")}.items()}
del FUNC["none"]
_NAMES = {code: name for name, code in FUNC.items()}
_ERF = np.vectorize(erf, otypes=[float])
_PARAMETERS = {
    "clip": (-0.5, 1.5),
    "hardsigmoid": (0.2, 0.5),
    "leaky_relu": (0.1, 0),
    "elu": (0.7, 0),
}
_POSITIVE = {"log", "sqrt", "rsqrt"}

CASES = [
    *({"func": FUNC["relu"], "size": n} for n in (0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33)),
    *({"func": code, "size": 301} for code in FUNC.values()),
    *({"func": FUNC[name], "size": 20011} for name in ("clip", "silu", "log")),
    # Arguments of every sign and size, side by side.
    *({"func": FUNC[name], "size": 303, "far": True} for name in ("log", "sin", "cos")),
]
_F32_ONLY = [FUNC[name] for name in ("log", "sin", "cos")]
HALVES = [row for row in CASES if row["func"] not in _F32_ONLY and row["size"] < 1000]


def facts(row):
    a, b = _PARAMETERS.get(_NAMES[row["func"]], (0, 0))
    return {**row, "act_a": float(a), "act_b": float(b)}


def operands(f, rng):
    name = _NAMES[f["func"]]
    x = rng.standard_normal(f["size"]) * rng.choice([0.01, 1, 5, 30], f["size"])
    far = f.get("far", False)
    if far:
        x *= rng.choice([1, 1, 1, 1e4, 1e7, 1e30], f["size"])
    elif name in _POSITIVE:
        x = np.abs(x) + 1e-6
    if name in ("floor", "ceil", "round", "trunc"):
        x = np.round(x * 2) / 2 * rng.choice([1, 1, 1.001, 1e6], f["size"])
    x = x.astype(np.float32)
    special = [np.nan, np.inf, 0.0, -0.0, 1.0, -1.0, 88.0, -86.0, 1e-30, 3e38]
    if f["size"] >= 300:
        x[: len(special)] = np.abs(special) if name in _POSITIVE and not far else special
        if name in ("sin", "cos") and not far:
            x[: len(special)] = np.clip(special, -100, 100)
    return [x]


_REFERENCES = {
    "relu": lambda x, a, b: np.maximum(x, 0),
    "clip": lambda x, a, b: np.clip(x, a, b),
    "sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "tanh": lambda x, a, b: np.tanh(x),
    "silu": lambda x, a, b: x / (1 + np.exp(-x)),
    "hardsigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "hardswish": lambda x, a, b: x * np.clip(x / 6 + 0.5, 0, 1),
    "leaky_relu": lambda x, a, b: np.where(x < 0, a * x, x),
    "gelu": lambda x, a, b: x / 2 * (1 + _ERF(x / np.sqrt(2))),
    "gelu_tanh": lambda x, a, b: x / (1 + np.exp(-np.sqrt(8 / np.pi) * (x + 0.044715 * x**3))),
    "elu": lambda x, a, b: np.where(x < 0, a * np.expm1(x), x),
    "exp": lambda x, a, b: np.exp(x),
    "log": lambda x, a, b: np.log(x),
    "sqrt": lambda x, a, b: np.sqrt(x),
    "rsqrt": lambda x, a, b: 1 / np.sqrt(x),
    "neg": lambda x, a, b: -x,
    "abs": lambda x, a, b: np.abs(x),
    "floor": lambda x, a, b: np.floor(x),
    "ceil": lambda x, a, b: np.ceil(x),
    "round": lambda x, a, b: np.round(x),
    "trunc": lambda x, a, b: np.trunc(x),
    "erf": lambda x, a, b: _ERF(x),
    "sin": lambda x, a, b: np.sin(x),
    "cos": lambda x, a, b: np.cos(x),
    "sign": lambda x, a, b: np.sign(x),
    "square": lambda x, a, b: x * x,
}


def reference(f, inputs):
    a, b = np.float32(f["act_a"]), np.float32(f["act_b"])
    x = inputs[0].astype(np.float64)
    return [_REFERENCES[_NAMES[f["func"]]](x, a, b).astype(np.float32)]


def check(f, got, want):
    """Relative 5e-7 (four ulps) or absolute 2e-7 (1 + |x|) where results cancel or underflow.

    In f16 both are rounded: two ulps. That of gelu_tanh does not cancel: as far as exp's argument
    is exact, its result is.
    """
    (g,), (w,) = got, want
    relative, slack = 5e-7, 3e-7 * _slack(f)
    if g.dtype == np.float16:
        relative = 2e-3
    elif _NAMES[f["func"]] == "gelu_tanh":
        relative, slack = 1.2e-5, 1e-36
    same = (g == w) | (np.isnan(g) & np.isnan(w))
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(g.astype(np.float64) - w)
        close = error <= relative * np.abs(w.astype(np.float64)) + slack
    bad = np.flatnonzero(~(same | (np.isfinite(w) & close)))
    if not bad.size:
        return ""
    x = operands(f, np.random.default_rng(0))
    k = bad[0]
    return f"{_NAMES[f['func']]}: {bad.size} of {len(x[0])} wrong, at {k}: got {g[k]}, want {w[k]}"


def _slack(f):
    """Absolute error allowed, in units of 3e-7: 0 where the function is exact."""
    exact = ("relu", "neg", "abs", "floor", "ceil", "round", "trunc", "sign", "clip")
    return 0 if _NAMES[f["func"]] in exact else 1
