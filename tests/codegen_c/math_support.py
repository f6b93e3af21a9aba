"""Call the functions of ``megcc_math.h`` on arrays and measure their errors in ULP."""

from __future__ import annotations

import ctypes
import math
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

INCLUDE = Path(__file__).resolve().parents[2] / "codegen_c" / "include"
WIDE = np.longdouble

UNARY = (
    "acos acosh asin asinh atan atanh ceil cos cosh erf exp exp10 exp2 expm1 fabs floor log log10 "
    "log1p log2 round rsqrt sigmoid sin sinh sqrt tan tanh trunc"
).split()
BINARY = "atan2 copysign floormod fmod hypot pow".split()
EXACT = {"ceil", "fabs", "floor", "round", "trunc", "copysign", "fmod"}
ROUNDED = {"sqrt", "floormod"}

_REFERENCE: dict[str, Callable] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "erf": lambda x: np.array([math.erf(float(v)) for v in x], WIDE),
    "exp10": lambda x: np.power(WIDE(10), x),
    "floormod": np.mod,
    "pow": np.power,
    "round": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


def suffix(dtype: type) -> str:
    return "f" if dtype is np.float32 else ""


def stated_bounds() -> dict[str, float]:
    """Function name -> the ULP bound in the comment above it, as the headers state it."""
    bounds: dict[str, float] = {}
    for header in ("megcc_mathf.h", "megcc_mathd.h", "megcc_trig.h"):
        text = (INCLUDE / "math" / header).read_text()
        pattern = r"///[^\n]*<= (\d+) ULP[^\n]*\nMEGCC_INLINE (?:float|double) megcc_(\w+)\("
        for bound, name in re.findall(pattern, text):
            bounds[name] = float(bound)
    twins = (INCLUDE / "math" / "megcc_math_real.h").read_text()
    pattern = r"///[^\n]*<= (\d+) ULP[^\n]*\nMEGCC_INLINE MEGCC_REAL MEGCC_FN\((\w+)\)\("
    for bound, name in re.findall(pattern, twins):
        bounds[name] = bounds[name + "f"] = float(bound)
    for name in (n + s for s in ("f", "") for n in EXACT):
        bounds[name] = 0.0
    for name in (n + s for s in ("f", "") for n in ROUNDED):
        bounds[name] = 0.5
    return bounds


def build(folder: Path, command: Sequence[str]) -> Path:
    """An object or shared library with a loop over an array for every function."""
    lines = ['#include "math/megcc_math.h"']
    for ctype, end in (("float", "f"), ("double", "")):
        for name in UNARY:
            lines.append(
                f"void v_{name}{end}(const {ctype} *restrict x, {ctype} *restrict y, int n) "
                f"{{ for (int i = 0; i < n; ++i) y[i] = megcc_{name}{end}(x[i]); }}"
            )
        for name in BINARY:
            lines.append(
                f"void v_{name}{end}(const {ctype} *restrict x, const {ctype} *restrict z, "
                f"{ctype} *restrict y, int n) "
                f"{{ for (int i = 0; i < n; ++i) y[i] = megcc_{name}{end}(x[i], z[i]); }}"
            )
    source, target = folder / "math.c", folder / "math.so"
    source.write_text("\n".join(lines) + "\n")
    subprocess.run(
        [*command, "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", str(source), "-o", str(target)],
        check=True,
    )
    return target


def apply(library: ctypes.CDLL, name: str, *arrays: np.ndarray) -> np.ndarray:
    out = np.empty_like(arrays[0])
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays, out)]
    getattr(library, f"v_{name}{suffix(out.dtype.type)}")(*pointers, out.size)
    return out


def reference(name: str, *arrays: np.ndarray) -> np.ndarray:
    """The function in extended precision."""
    function = _REFERENCE.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        return function(*(a.astype(WIDE) for a in arrays))


def ulp_errors(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Distance in units in the last place; infinite where NaN, infinity or a zero's sign differ."""
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        exponent = np.floor(np.log2(np.maximum(np.abs(want), WIDE(info.smallest_normal))))
        errors = np.abs(got.astype(WIDE) - want) / np.power(WIDE(2), exponent - info.nmant)
        special = ~np.isfinite(rounded) | ~np.isfinite(got)
        # At the end of the range the nearest value may be the largest number or infinity.
        end = np.abs(np.abs(want) / WIDE(info.max) - 1) < 4 * info.eps
        wrong = np.isnan(rounded) != np.isnan(got)
        wrong |= special & ~np.isnan(rounded) & (rounded != got) & ~end
        wrong |= (rounded == 0) & (got == 0) & (np.signbit(rounded) != np.signbit(got))
        errors[special] = 0
        errors[wrong] = np.inf
    return errors


def special_values(dtype: type) -> np.ndarray:
    info = np.finfo(dtype)
    ends = [info.max, info.tiny, info.smallest_subnormal, info.eps, np.inf, 1 - info.epsneg]
    values = [0, 1, 0.5, 2, 3, 1.5, 2.5, 3.5, 1 + info.eps, 1e-10, 1e10, 1e22, 2.0**31, 8388607.5]
    values += [8388608, 4194303.5, 2.0**52 + 0.5, 2.0**53, math.pi, math.pi / 2, math.pi * 1e5]
    values += [87.3, 88.7, 88.8, 89.5, 103, 104, 110, 709.7, 709.8, 710.4, 710.6, 745, 746, 750]
    positive = np.array(values + ends, np.float64)
    return np.concatenate([positive, -positive, [np.nan]]).astype(dtype)


def samples(dtype: type, size: int) -> np.ndarray:
    """Special values and numbers of every magnitude, most of them where functions bend."""
    rng = np.random.default_rng(2024)
    info = np.finfo(dtype)
    parts = [special_values(dtype)]
    for reach in (1e-3, 0.1, 1, 3, 10, 20, 100, 800, 1e4, 1e6):
        parts.append(rng.uniform(-reach, reach, size))
    low = math.log2(float(info.smallest_subnormal))
    magnitudes = np.exp2(rng.uniform(low, math.log2(float(info.max)), 2 * size))
    parts.append(rng.choice([-1, 1], 2 * size) * magnitudes)
    parts.append(1 + rng.uniform(-1, 1, size))
    parts.append(1 + rng.uniform(-1e-2, 1e-2, size))
    with np.errstate(all="ignore"):
        return np.concatenate(parts).astype(dtype)


def pairs(dtype: type, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Operands for functions of two: all special values with each other, then numbers."""
    rng = np.random.default_rng(4048)
    special = special_values(dtype)
    anything = samples(dtype, size // 4)
    count = special.size
    lefts = [np.repeat(special, count), rng.permutation(anything)[:size]]
    rights = [np.tile(special, count), rng.permutation(anything)[:size]]
    lefts += [rng.uniform(0, 5, size), rng.uniform(-5, 5, size)]
    rights += [rng.uniform(-100, 100, size), np.rint(rng.uniform(-100, 100, size))]
    return np.concatenate(lefts).astype(dtype), np.concatenate(rights).astype(dtype)
