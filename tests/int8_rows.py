"""Rows that a product by quantised weights rounds to int8, as NumPy computes them."""

from __future__ import annotations

import numpy as np


def rounded(rows: np.ndarray, block: int) -> np.ndarray:
    """Rows ``[M, K]`` as int8 by blocks of K, in f64 again: as ``op/matmul_wq.h`` defines it."""
    parts = []
    for part in np.split(rows.astype(np.float32), range(block, rows.shape[1], block), axis=1):
        most = np.abs(part).max(axis=1, keepdims=True)
        with np.errstate(all="ignore"):
            inverse = np.where(most >= np.float32(1e-30), np.float32(127) / most, np.float32(0))
            whole = np.rint(part * inverse.astype(np.float32)).astype(np.float64)
            parts.append(whole * (most / np.float32(127)).astype(np.float64))
    return np.concatenate(parts, axis=1)
