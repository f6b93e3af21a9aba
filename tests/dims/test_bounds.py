"""Bounds of sizes: nothing that a size can be lies outside of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tvm_megcc import dims

N = dims.symbol("n")
M = dims.symbol("m", 1, 8)
K = dims.symbol("k", 1, 16)

#: A size, and its least and greatest value.
KNOWN = [
    (N - dims.maximum(N - 1, 0), 0, 1),
    (dims.maximum(N - 1, 0) - dims.maximum(N - 2, 0), 0, 1),
    (dims.maximum(dims.minimum(N, 1) - dims.maximum(N - 2, 0), 0), 0, 1),
    (dims.maximum(N - 1, 0) - N, -1, 0),
    (N - dims.minimum(N, 3), 0, dims.INFINITY),
    (M + dims.minimum(3 - M, M), 2, 3),
    (2 * dims.maximum(N // 2, N) - N, 0, dims.INFINITY),
    (N - N // 2, 0, dims.INFINITY),
    (2 * (N // 2) - N, -1, 0),
    (M - M // 2, 1, 4),
    (3 * ((M - 4) // 3) - M, -6, -4),
    (N % 3, 0, 2),
    (M % K, 0, 8),
    ((M - 1) % K, 0, 7),
    ((M + 15) % K, 0, 15),
    ((M - 5) % K, 0, 15),
    (M % (K - 1), -dims.INFINITY, dims.INFINITY),
]


@pytest.mark.parametrize(("size", "low", "high"), KNOWN, ids=str)
def test_what_operations_are_of_cancels(size: dims.Size, low: float, high: float) -> None:
    assert dims.bounds(size) == (low, high)


def test_bounds_hold() -> None:
    """Random sums of products, extremes and quotients, for all values of the symbols."""
    rng = np.random.default_rng(0)

    def drawn(depth: int) -> dims.Size:
        kind = rng.integers(8 if depth else 2)
        if kind < 2:
            return (N, M, int(rng.integers(-3, 4)))[rng.integers(3)]
        a, b = drawn(depth - 1), drawn(depth - 1)
        if kind > 5:
            by = int(rng.integers(1, 5))
            return a // by if kind == 6 else a % by
        if kind < 4:
            return (dims.minimum, dims.maximum)[kind % 2](a, b)
        return a + int(rng.integers(-2, 3)) * b

    values = list(itertools.product(range(12), range(1, 9)))
    for _ in range(300):
        size = drawn(4)
        low, high = dims.bounds(size)
        assert all(low <= dims.at(size, {"n": n, "m": m}) <= high for n, m in values), size
