"""Resize with ``tf_crop_and_resize``: ONNX's text, in every mode, wherever the region is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx.reference import ReferenceEvaluator

from tests.fuzz.cropped import crop_and_resize
from tests.ops.cases import Weight, rand
from tests.ops.together import Case, Open, check_together
from tvm_megcc.ops.common.resample import Axis, outside, positions

pytestmark = pytest.mark.slow

IMAGE = rand(1, 2, 5, 6)
#: Where the region of height and width begins and ends: within the image, beyond it, mirrored.
REGIONS = {
    "whole": (0, 0, 1, 1),
    "within": (0.2, 0.1, 0.7, 0.9),
    "begins before": (-0.1, -0.3, 0.9, 0.8),
    "ends behind": (0.2, 0.0, 1.2, 1.25),
    "around": (-0.2, -0.5, 1.2, 1.5),
    "mirrored": (1, 0.8, 0, -0.2),
    "beside": (1.5, 0, 2.5, 1),
}
MODES: list[dict[str, Any]] = [
    {"mode": "nearest"},
    {"mode": "nearest", "nearest_mode": "floor"},
    {"mode": "nearest", "nearest_mode": "ceil"},
    {"mode": "nearest", "nearest_mode": "round_prefer_ceil"},
    {"mode": "linear"},
    {"mode": "linear", "exclude_outside": 1},
    {"mode": "linear", "antialias": 1},
    {"mode": "cubic"},
    {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5},
    {"mode": "cubic", "antialias": 1},
    {"mode": "cubic", "antialias": 1, "exclude_outside": 1},
]
SIZES = [(5, 6), (9, 8), (3, 3), (1, 4), (5, 9)]
SCALES = [(1.0, 1.0), (1.5, 1.0), (0.7, 0.6), (2.3, 1.2)]


def cropped(
    x: np.ndarray, region: str, by: str, two: tuple[float, ...], attrs: dict[str, Any],
    at_run_time: bool,
) -> Case:  # fmt: skip
    """A Resize of height and width, with ONNX's answer."""
    attrs = {**attrs, "coordinate_transformation_mode": "tf_crop_and_resize",
             "extrapolation_value": 7.0, "axes": [2, 3]}  # fmt: skip
    roi = np.array(REGIONS[region], np.float32)
    numbers = np.array(two, np.float32 if by == "scales" else np.int64)
    given = [None, numbers] if by == "sizes" else [numbers, None]
    want = crop_and_resize(attrs, [x, roi, *given])
    operands: list[Any] = [x, Weight(roi), *(None if v is None else Weight(v) for v in given)]
    if at_run_time:
        operands = [Open(x, [1, 2, "h", "w"]), roi, *given]
    while operands[-1] is None:
        operands.pop()
    return Case("Resize", operands, attrs, 19, want=want, close=1e-5)


def cases() -> Iterator[Case]:
    """Every mode with regions, sizes and scales in turn: known ones, and some of a run."""
    turns = [("sizes", two) for two in SIZES] + [("scales", two) for two in SCALES]
    for number, (attrs, region) in enumerate(product(MODES, REGIONS)):
        if number % 8 == 0 or region == "ends behind":
            by, two = turns[number % len(turns)]
            yield cropped(IMAGE, region, by, two, attrs, at_run_time=number % 3 == 0)
    x = np.random.default_rng(1).integers(0, 200, (1, 2, 5, 6)).astype(np.uint8)
    for at_run_time in (False, True):
        yield cropped(x, "ends behind", "sizes", (3, 4), {"mode": "nearest"}, at_run_time)


def ends() -> Iterator[Case]:
    """Regions whose last element is the image's own, though f32 rounds it to behind that."""
    attrs = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize",
             "extrapolation_value": 7.0}  # fmt: skip
    for start, size, out in ((0.1, 23, 20), (0.1, 32, 44)):
        x, roi = np.arange(size, dtype=np.float32), np.array([start, 1], np.float32)
        operands = [x, roi, None, np.array([out])]
        want = crop_and_resize(attrs, operands)
        assert want[0][-1] == size - 1
        yield Case("Resize", [Open(x, [f"n{size}"]), *operands[1:]], attrs, 19, want=want)


def test_regions(tmp_path: Path) -> None:
    check_together([*cases(), *ends()], tmp_path)


@pytest.mark.parametrize(("start", "end"), [(0.1, 1), (0.2, 1), (0.7, 1), (1, 0.3), (0, 0.9)])
def test_the_ends_of_a_region_stay_within_the_image(start: float, end: float) -> None:
    """In f32, ``0.1 * 22 + 19 * 0.9 * 22 / 19`` is more than 22."""
    roi = float(np.float32(start)), float(np.float32(end))
    for size, out in product(range(1, 60, 3), range(1, 60, 3)):
        axis = Axis(size, out, out / size, roi)
        assert not outside(axis).any()
        if out > 1:
            ends = positions(axis, "tf_crop_and_resize")[[0, -1]]
            np.testing.assert_array_equal(ends, np.float32(np.array(roi) * (size - 1)))


#: The table of docs/fuzzing.md: attributes, and who has ONNX's answer.
RUNTIMES = [
    ({"mode": "linear"}, "within", "sizes", (9, 8), True, True),
    ({"mode": "linear"}, "ends behind", "sizes", (9, 8), True, True),
    ({"mode": "linear"}, "ends behind", "sizes", (5, 6), False, True),
    ({"mode": "nearest"}, "ends behind", "sizes", (5, 9), False, True),
    ({"mode": "cubic"}, "ends behind", "scales", (1.0, 2.0), False, True),
    ({"mode": "linear"}, "within", "scales", (1.5, 1.25), True, False),
    ({"mode": "cubic"}, "within", "scales", (1.5, 1.25), True, False),
    ({"mode": "linear", "antialias": 1}, "within", "scales", (0.7, 0.6), True, False),
]


@pytest.mark.parametrize("row", RUNTIMES, ids=str)
def test_what_other_runtimes_answer(row: tuple[Any, ...]) -> None:
    """What the documentation says of them; a newer version that is right ends this test."""
    attrs, region, by, two, runtime, reference = row
    case = cropped(IMAGE, region, by, two, attrs, at_run_time=False)
    axes = case.attrs.pop("axes")
    assert axes == [2, 3]
    full = list(case.operands)
    starts, ends = np.split(np.array(REGIONS[region], np.float32), 2)
    full[1] = Weight(np.concatenate([[0, 0], starts, [1, 1], ends]).astype(np.float32))
    last = full[-1].value
    full[-1] = Weight(np.concatenate([np.array([1, 1] if by == "scales" else [1, 2]), last])
                      .astype(last.dtype))  # fmt: skip
    proto, feeds = Case("Resize", full, case.attrs, 19).model()
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(proto.SerializeToString(), options)
    for found, is_right in (
        (session.run(None, feeds)[0], runtime),
        (ReferenceEvaluator(proto).run(None, feeds)[0], reference),
    ):
        assert case.want is not None and found.shape == case.want[0].shape
        assert np.allclose(found, case.want[0], rtol=1e-4, atol=1e-5) == is_right
