"""Defaults of attributes. Like every number of an attribute they are f32, also beside f64 data."""

from __future__ import annotations

import numpy as np


def f32(value: float) -> float:
    """The f32 that is nearest to a number of ONNX's text."""
    return float(np.float32(value))


#: Of the normalisations of domain ai.onnx.
EPSILON = f32(1e-5)
