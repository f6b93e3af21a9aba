"""Rows of a cache in int8, as NumPy computes them."""

from __future__ import annotations

import numpy as np


def rounded(rows: np.ndarray) -> np.ndarray:
    """Rows ``[..., D]`` of f32 as ``int8[..., D + 4]``: as ``op/cache_append.h`` defines it."""
    rows = np.asarray(rows, np.float32)
    most = np.abs(rows).max(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        finite = np.isfinite(rows).all(axis=-1, keepdims=True)
        inverse = np.where(most >= np.float32(1e-30), np.float32(127) / most, np.float32(0))
        whole = np.where(finite, np.rint(rows * inverse), 0).astype(np.int8)
        factor = np.where(finite, most / np.float32(127), np.float32(np.nan)).astype("<f4")
    return np.concatenate([whole, factor.view(np.int8)], axis=-1)


def widened(rows: np.ndarray) -> np.ndarray:
    """Rows ``int8[..., D + 4]`` as f64 ``[..., D]``."""
    factor = np.ascontiguousarray(rows[..., -4:]).view("<f4").astype(np.float64)
    return rows[..., :-4] * factor
