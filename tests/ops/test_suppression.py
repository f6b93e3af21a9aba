"""NonMaxSuppression with limits and shapes that are known at run time only, and the corners."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper

from tests.ops.cases import Weight
from tests.ops.packages import check, model
from tests.ops.together import Case, case, check_together

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(3)


def boxes(batches: int, count: int, centred: bool = False) -> np.ndarray:
    """On a grid, so that overlaps are exact and many are equal."""
    corner = RNG.integers(0, 6, (batches, count, 2))
    size = RNG.integers(0, 5, (batches, count, 2))
    ends = corner + size
    if not centred:  # some with their corners the other way round
        corner, ends = np.where(RNG.random(size.shape) < 0.2, (ends, corner), (corner, ends))
    return np.concatenate([corner, size if centred else ends], 2).astype("float32")


def scores(*shape: int) -> np.ndarray:
    return (RNG.integers(-4, 5, shape) / 4).astype("float32")


def long(*values: int) -> np.ndarray:
    return np.array(values, "int64")


def real(*values: float) -> np.ndarray:
    return np.array(values, "float32")


def cases() -> Iterator[Case]:
    for centred in (0, 1):
        for limits in (
            [long(3)],
            [long(100), real(0.5)],
            [long(100), None, real(0.25)],
            [long(2), real(1 / 3), real(-0.5)],
            [long(100), real(0.0), real(0.0)],
            [long(100), real(1.0)],
            [Weight([5], "int64"), Weight([0.25], "float32"), real(0.0)],
            [long(0), real(0.5)],
            [None, real(0.5)],
            [],
        ):
            data = [boxes(2, 12, bool(centred)), scores(2, 3, 12)]
            yield case("NonMaxSuppression", [*data, *limits], center_point_box=centred)
    half = np.array([[[0, 0, 2, 2], [0, 1, 2, 3], [0, 0, 2, 2]]], "float32")
    for limit in (1 / 3, 0.3333, 0.3334):  # the overlap of the first two is a third
        data = [half, real(1, 2, 1).reshape(1, 1, 3), long(9), real(limit)]
        yield case("NonMaxSuppression", data)
    apart = np.arange(4, dtype="float32").reshape(1, 4, 1) * 9 + real(0, 0, 2, 2)
    for least in (0.5, 9.0):  # a score that is NaN is above none, and those behind it count
        data = [apart, real(1, np.nan, 0.25, 2).reshape(1, 1, 4), long(9), real(0.5), real(least)]
        want = [[0, 0, k] for k in (3, 0)] if least < 1 else np.zeros((0, 3))
        yield case("NonMaxSuppression", data, wants=[np.array(want, "int64")])


def test_suppression(tmp_path: Path) -> None:
    check_together(cases(), tmp_path)


def test_suppression_of_open_sizes(tmp_path: Path) -> None:
    names = ["boxes", "scores", "most", "overlap", "least"]
    node = helper.make_node("NonMaxSuppression", names, ["y"])
    ports = [("boxes", T.FLOAT, ["b", "n", 4]), ("scores", T.FLOAT, ["b", "c", "n"])]
    ports += [("most", T.INT64, [1]), ("overlap", T.FLOAT, [1]), ("least", T.FLOAT, [1])]
    feeds = []
    for b, c, n, most in ((1, 1, 5, 3), (2, 3, 30, 4), (1, 2, 1, 9), (1, 1, 0, 1), (2, 1, 8, 0)):
        values = [boxes(b, n), scores(b, c, n), long(most), real(0.25), real(-0.5)]
        feeds.append(dict(zip(names, values, strict=True)))
    check(model([node], ports, [("y", T.INT64)]), tmp_path, *feeds)
