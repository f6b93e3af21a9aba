"""TIR intrinsics -> functions of ``megcc_math.h``, one row each."""

from __future__ import annotations

#: Real functions: TIR name -> stem. ``stem + "f"`` takes and returns float, ``stem`` double.
REAL: dict[str, str] = {
    "acos": "megcc_acos",
    "acosh": "megcc_acosh",
    "asin": "megcc_asin",
    "asinh": "megcc_asinh",
    "atan": "megcc_atan",
    "atan2": "megcc_atan2",
    "atanh": "megcc_atanh",
    "ceil": "megcc_ceil",
    "copysign": "megcc_copysign",
    "cos": "megcc_cos",
    "cosh": "megcc_cosh",
    "erf": "megcc_erf",
    "exp": "megcc_exp",
    "exp10": "megcc_exp10",
    "exp2": "megcc_exp2",
    "expm1": "megcc_expm1",
    "fabs": "megcc_fabs",
    "floor": "megcc_floor",
    "fmod": "megcc_fmod",
    "hypot": "megcc_hypot",
    "log": "megcc_log",
    "log10": "megcc_log10",
    "log1p": "megcc_log1p",
    "log2": "megcc_log2",
    # ONNX rounds halves to even, and so do both of TVM's spellings here.
    "nearbyint": "megcc_round",
    "pow": "megcc_pow",
    "round": "megcc_round",
    "rsqrt": "megcc_rsqrt",
    "sigmoid": "megcc_sigmoid",
    "sin": "megcc_sin",
    "sinh": "megcc_sinh",
    "sqrt": "megcc_sqrt",
    "tan": "megcc_tan",
    "tanh": "megcc_tanh",
    "trunc": "megcc_trunc",
}

#: Questions about a float: TIR name -> stem, used like `REAL`, answering 0 or 1.
PREDICATES: dict[str, str] = {
    "isfinite": "megcc_isfinite",
    "isinf": "megcc_isinf",
    "isnan": "megcc_isnan",
}

#: Names by which ``call_extern`` may ask for the C library: the same functions without one.
EXTERN: dict[str, str] = {
    **{name: stem for name, stem in REAL.items()},
    **{name + "f": stem for name, stem in REAL.items()},
    "rint": "megcc_round",
    "rintf": "megcc_round",
}

#: Names of a * b + c, rounded once.
FUSED = frozenset({"fma", "fmaf"})

#: Calls that mean their only argument.
TRANSPARENT = frozenset({"likely", "tvm_thread_invariant", "assume", "ignore_loop_partition"})
