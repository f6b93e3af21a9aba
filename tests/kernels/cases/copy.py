"""copy: any number of bytes."""

from __future__ import annotations

import numpy as np

CASES = [{"bytes": n} for n in (0, 1, 63, 64, 65, 1000, 70001)]


def operands(f, rng):
    return [rng.integers(0, 256, f["bytes"], np.uint8)]


def reference(f, inputs):
    return [inputs[0]]
