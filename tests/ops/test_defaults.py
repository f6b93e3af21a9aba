"""Defaults of attributes are f32 also of f64 data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ops.cases import Weight
from tests.ops.together import Case, check_together

pytestmark = pytest.mark.slow

X = np.random.default_rng(3).uniform(-1, 1, (2, 4, 3)) / 64
ONES, ZEROS = Weight(np.ones(4), "float64"), Weight(np.zeros(4), "float64")
ROW = Weight(np.ones(3), "float64")
EXACT = 1e-13


def test_defaults_are_f32(tmp_path: Path) -> None:
    squares = np.square(X).mean(-1, keepdims=True) + np.float64(np.float32(1e-5))
    groups = X.reshape(2, 2, -1)
    apart = groups - groups.mean(-1, keepdims=True)
    spread = np.sqrt(groups.var(-1, keepdims=True) + np.float64(np.float32(1e-5)))
    rows = [
        Case("LayerNormalization", [X, ROW, ROW], close=EXACT),
        Case("InstanceNormalization", [X, ONES, ZEROS], close=EXACT, by="reference"),
        Case("BatchNormalization", [X, ONES, ZEROS, ZEROS, Weight(np.full(4, 1e-5), "float64")],
             close=EXACT),
        Case("GroupNormalization", [X, ONES, ZEROS], {"num_groups": 2}, opset=21,
             want=[(apart / spread).reshape(X.shape)], close=EXACT),
        Case("RMSNormalization", [X, ROW], opset=23, want=[X / np.sqrt(squares)], close=EXACT),
        Case("LeakyRelu", [X], close=EXACT, by="reference"),
    ]  # fmt: skip
    check_together(rows, tmp_path)
