"""NaN where ONNX says nothing of it: as `onnx.reference` (numpy) or ONNX Runtime has it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.ops.cases import Weight
from tests.ops.together import Case, Open, check_together

pytestmark = pytest.mark.slow

INF, NAN = np.inf, np.nan
ROWS = np.array([[1, NAN, 3, NAN, -INF], [NAN, INF, 2, 2, NAN], [5, 4, -1, 5, -1], [NAN] * 5])


def _extremes() -> Iterator[Case]:
    for op, axis, last in product(("ArgMin", "ArgMax"), (0, 1), (0, 1)):
        for dtype in ("float16", "float32", "float64"):
            attrs = {"axis": axis, "select_last_index": last}
            yield Case(op, [ROWS.astype(dtype)], attrs, by="reference")
    yield Case("Hardmax", [ROWS.astype("f4")], {"axis": 1}, by="reference")


def _pools() -> Iterator[Case]:
    """Windows of infinities only, and windows with a NaN that is not their first element."""
    for rank, dtype in product((1, 2, 3), ("float16", "float32", "float64")):
        x = np.full((1, 2, *[4] * rank), -INF, dtype)
        x[0, 1, ..., 2] = NAN
        want = np.full_like(x, -INF)
        want[0, 1, ..., 1:] = NAN
        attrs = {"kernel_shape": [3] * rank, "pads": [1] * 2 * rank}
        yield Case("MaxPool", [x], attrs, want=[want])
        yield Case("MaxPool", [Open(x, (1, 2, *"hwd"[:rank]))], attrs, want=[want])
    image, places = np.full((1, 1, 3, 3), -INF, "f4"), np.zeros(1, "i8")
    attrs = {"mode": "max", "sampling_ratio": 1}
    want = [image[..., :1, :1]]
    yield Case(
        "RoiAlign", [image, np.array([[0.5, 0.5, 1.5, 1.5]], "f4"), places], attrs, want=want
    )


def _sorted() -> Iterator[Case]:
    for axis, largest, k in product((0, 1), (0, 1), (2, 4)):
        for dtype in ("float16", "float32", "float64"):
            attrs = {"axis": axis, "largest": largest}
            count = Weight([k], "int64")
            yield Case("TopK", [ROWS.astype(dtype), count], attrs, outputs=2, by="reference")


def _quantised() -> Iterator[Case]:
    x = np.tile(ROWS.astype("f4"), (1, 2))
    for dtype in ("int8", "uint8", "int16", "uint16"):
        one = [Weight(0.5, "f4"), Weight(3, dtype)]
        rows = [Weight([0.5] * 4, "f4"), Weight([3] * 4, dtype)]
        blocks = [Weight([[0.5] * 2] * 4, "f4"), Weight([[3] * 2] * 4, dtype)]
        yield Case("QuantizeLinear", [x, *one], opset=21)
        yield Case("QuantizeLinear", [x, *rows], {"axis": 0}, opset=21)
        yield Case("QuantizeLinear", [x, *blocks], {"axis": 1, "block_size": 5}, opset=21)


def test_nan(tmp_path: Path) -> None:
    check_together([*_extremes(), *_pools(), *_sorted(), *_quantised()], tmp_path)
