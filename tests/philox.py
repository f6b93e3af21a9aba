"""The random numbers that a package should draw, by NumPy: what docs/random-numbers.md says."""

from __future__ import annotations

import numpy as np

MULTIPLIERS = np.array([0xD2511F53, 0xCD9E8D57], np.uint64)
WEYL = np.array([0x9E3779B9, 0xBB67AE85], np.uint32)
HALF = np.uint64(32)


def philox(counter: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Blocks of Philox4x32-10: ``uint32[n, 4]`` of counters ``[n, 4]`` and keys ``[n, 2]``."""
    c, k = counter.astype(np.uint32), key.astype(np.uint32)
    for _ in range(10):
        products = c[:, ::2].astype(np.uint64) * MULTIPLIERS
        low, high = products.astype(np.uint32), (products >> HALF).astype(np.uint32)
        first, third = high[:, 1] ^ c[:, 1] ^ k[:, 0], high[:, 0] ^ c[:, 3] ^ k[:, 1]
        c = np.stack([first, low[:, 1], third, low[:, 0]], axis=1)
        k = k + WEYL
    return c


def blocks(count: int, seed: int, draw: int) -> np.ndarray:
    """The first blocks of a draw."""
    counter = np.zeros((count, 4), np.uint32)
    counter[:, 0] = np.arange(count)
    counter[:, 2:] = np.array([draw], "<u8").view("<u4")
    key = np.array([seed & (1 << 64) - 1], "<u8").view("<u4")
    return philox(counter, np.broadcast_to(key, (count, 2)))


def uniform(count: int, seed: int, draw: int, dtype: str = "float32") -> np.ndarray:
    """Exactly what is drawn from [0, 1)."""
    if dtype == "float64":
        pairs = blocks(-(-count // 2), seed, draw).reshape(-1, 2)[:count].astype(np.uint64)
        return _bits53(pairs) * 2.0**-53
    words = blocks(-(-count // 4), seed, draw).reshape(-1)[:count]
    return (words >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def normal(count: int, seed: int, draw: int, dtype: str = "float32") -> np.ndarray:
    """What is drawn of a normal distribution, in more digits than there are."""
    per_block = 2 if dtype == "float64" else 4
    words = blocks(-(-count // per_block), seed, draw)
    if dtype == "float64":
        part = (_bits53(words[:, :2].astype(np.uint64)) + 0.5) * 2.0**-53
        low = words[:, 2:].astype(np.uint64)
        both = low[:, 0] << HALF | low[:, 1]
        quadrant = both >> np.uint64(62)
        part_of = ((both << np.uint64(2)) >> np.uint64(11)).astype(np.longdouble) * 2.0**-53
    else:
        words = words.reshape(-1, 2)
        part = words[:, 0].astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)
        quadrant = words[:, 1] >> np.uint32(30)
        part_of = ((words[:, 1] << np.uint32(2)) >> np.uint32(8)).astype(np.longdouble) * 2.0**-24
    radius = np.sqrt(-2 * np.log(part.astype(np.longdouble)))
    right, wide = 2 * np.arctan(np.longdouble(1)), part_of > 0.5
    # Near a right angle the cosine is the sine of what is missing.
    cosine, sine = (
        np.where(wide, other(right * (1 - part_of)), own(right * part_of))
        for own, other in ((np.cos, np.sin), (np.sin, np.cos))
    )
    turned = [(cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine)]
    pairs = [np.choose(quadrant.astype(np.intp), [row[k] for row in turned]) for k in (0, 1)]
    return np.stack([radius * v for v in pairs], axis=1).reshape(-1)[:count]


def _bits53(pairs: np.ndarray) -> np.ndarray:
    both = pairs[:, 0] << HALF | pairs[:, 1]
    return (both >> np.uint64(11)).astype(np.float64)
