"""concat: up to 16 inputs of any widths, empty ones too."""

from __future__ import annotations

import numpy as np

CASES = [
    {"outer": 3, "widths": (5,)},
    {"outer": 3, "widths": (5, 1, 16, 0, 7)},
    {"outer": 1, "widths": (1000, 24)},
    {"outer": 0, "widths": (4, 4)},
    {"outer": 2, "widths": tuple(range(16))},
    {"outer": 57 * 56, "widths": (64, 12)},
    # Widths that are cases of their own, in more rows than are copied at a time.
    {"outer": 40, "widths": (4, 8, 16, 17, 32, 900)},
]


def facts(row):
    widths = row.pop("widths")
    sizes = {f"b{i}": widths[i] if i < len(widths) else 0 for i in range(16)}
    return {**row, **sizes, "count": len(widths), "dtype": "u8"}


def operands(f, rng):
    return [rng.integers(0, 256, (f["outer"], f[f"b{i}"]), np.uint8) for i in range(f["count"])]


def reference(f, inputs):
    return [np.concatenate(inputs, 1)]
