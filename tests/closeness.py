"""When two arrays of floats are the same answer: measured by the largest magnitude among them.

An element that a sum has brought near zero keeps the error of what was summed, and how much that
is depends on the order in which a machine adds: TVM's code on one processor and on another.
"""

from __future__ import annotations

import numpy as np


def compare(got: np.ndarray, want: np.ndarray, limit: float) -> str:
    """Complain when the largest difference over the largest magnitude is above `limit`.

    NaN must meet NaN and an infinity the same infinity; ``limit == 0`` means equal values.
    """
    if want.dtype.kind != "f" or limit == 0:
        same = np.array_equal(got, want, equal_nan=want.dtype.kind == "f")
        if same:
            return ""
        bad = np.flatnonzero((got != want).ravel())
    else:
        finite = np.isfinite(want)
        scale = float(np.abs(want[finite]).max(initial=0.0)) or 1.0
        with np.errstate(invalid="ignore", over="ignore"):
            far = np.abs(got.astype(np.float64) - want) > limit * scale
        equal = (got == want) | (np.isnan(got) & np.isnan(want))
        wrong = np.where(finite & np.isfinite(got), far, ~equal)
        bad = np.flatnonzero(wrong.ravel())
    if not bad.size:
        return ""
    k = bad[0]
    return (
        f"{bad.size} of {want.size} elements differ, the first at {k}:"
        f" got {got.ravel()[k]!r}, want {want.ravel()[k]!r}"
    )


def assert_close(got: np.ndarray, want: np.ndarray, limit: float = 1e-5) -> None:
    """Fail unless the arrays have one shape and `compare` has nothing to say."""
    assert got.shape == want.shape, f"shape {got.shape}, want {want.shape}"
    complaint = compare(got, want, limit)
    assert not complaint, complaint
