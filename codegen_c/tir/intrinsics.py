"""TIR intrinsics -> functions of ``megcc_math.h``, one row each."""

from __future__ import annotations

#: Real functions: TIR name -> stem. ``stem + "f"`` takes and returns float, ``stem`` double.
REAL: dict[str, str] = {
    name: f"megcc_{name}"
    for name in (
        "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf exp exp10 exp2 expm1"
        " fabs floor fmod hypot log log10 log1p log2 pow round rsqrt sigmoid sin sinh sqrt tan"
        " tanh trunc"
    ).split()
}
# ONNX rounds halves to even, and so do both of TVM's spellings here.
REAL["nearbyint"] = "megcc_round"

#: Questions about a float: TIR name -> stem, used like `REAL`, answering 0 or 1.
PREDICATES = {name: f"megcc_{name}" for name in ("isfinite", "isinf", "isnan")}

#: Names by which ``call_extern`` may ask for the C library: the same functions without one.
EXTERN: dict[str, str] = {
    **REAL,
    **{name + "f": stem for name, stem in REAL.items()},
    "rint": "megcc_round",
    "rintf": "megcc_round",
}

#: Names of a * b + c, rounded once.
FUSED = frozenset({"fma", "fmaf"})

#: Calls that mean their only argument.
TRANSPARENT = frozenset({"likely", "tvm_thread_invariant", "assume", "ignore_loop_partition"})
