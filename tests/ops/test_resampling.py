"""Resize and Upsample against ONNX Runtime, and where that differs from ONNX, the standard."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.ops.cases import Weight, check_node, rand
from tests.ops.together import Case, check_together, right_answer
from tvm_megcc.errors import UnsupportedError

MODES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]
NOTHING = Weight(np.zeros(0, np.float32))


def scales(*values):
    return [rand(1, 2, 5, 6), NOTHING, Weight(values, "float32")]


def sizes(*values):
    return [rand(1, 2, 5, 6), NOTHING, NOTHING, Weight(values, "int64")]


@pytest.mark.parametrize("coordinates", MODES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_by_scales(mode, coordinates):
    given = scales(1, 1, 2.3, 0.7)
    check_node("Resize", given, 19, 1e-5, mode=mode, coordinate_transformation_mode=coordinates)


@pytest.mark.parametrize("coordinates", MODES)
def test_resize_linear_by_sizes(coordinates):
    given = sizes(1, 2, 10, 9)
    check_node("Resize", given, 19, mode="linear", coordinate_transformation_mode=coordinates)


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
@pytest.mark.parametrize("coordinates", [*MODES, "tf_half_pixel_for_nn"])
def test_resize_nearest(coordinates, rounding):
    attrs = dict(coordinate_transformation_mode=coordinates, nearest_mode=rounding)
    opset = 11 if coordinates == "tf_half_pixel_for_nn" else 19
    check_node("Resize", scales(1, 1, 2, 0.6), opset, mode="nearest", **attrs)


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil"])
def test_resize_nearest_takes_what_is_next_to_the_middle_for_it(rounding):
    """2 / (4 / 7) is 3.5, and 3.4999998 in f32."""
    given = [rand(1, 9, 7, 17), NOTHING, NOTHING, Weight([1, 10, 4, 5], "int64")]
    for coordinates in ("asymmetric", "half_pixel"):
        attrs = dict(coordinate_transformation_mode=coordinates, nearest_mode=rounding)
        check_node("Resize", given, 19, mode="nearest", **attrs)


def test_resize_nearest_doubled():
    attrs = dict(coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    imported = check_node("Resize", scales(1, 1, 2, 2), 13, mode="nearest", **attrs)
    assert "image.resize2d" in imported.mod.script()


def test_resize_cubic_without_outside():
    attrs = dict(exclude_outside=1, cubic_coeff_a=-0.5)
    check_node("Resize", scales(1, 1, 1.6, 0.8), 19, mode="cubic", **attrs)


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_resize_crop(mode):
    roi = Weight([0, 0, 0.2, -0.1, 1, 1, 0.7, 1.2], "float32")
    given = [rand(1, 2, 5, 6), roi, NOTHING, Weight([1, 2, 4, 7], "int64")]
    attrs = dict(coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0)
    check_node("Resize", given, 13, mode=mode, **attrs)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_resize_keeps_aspect_ratio(policy):
    given = [rand(1, 2, 5, 6), None, None, Weight([8, 8], "int64")]
    attrs = dict(axes=[2, 3], keep_aspect_ratio_policy=policy)
    check_node("Resize", given, 18, mode="nearest", **attrs)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_resize_of_an_empty_image_keeps_no_ratio(policy):
    given = [rand(1, 2, 0, 6), None, None, Weight([8, 8], "int64")]
    attrs = dict(axes=[2, 3], keep_aspect_ratio_policy=policy)
    with pytest.raises(UnsupportedError, match="of an empty image; use 'stretch'"):
        check_node("Resize", given, 18, mode="nearest", **attrs)


def test_resize_other_ranks():
    given = [rand(2, 5), None, Weight([1.5, 2], "float32")]
    check_node("Resize", given, 13, mode="linear")


def test_resize_opset_10():
    check_node("Resize", [rand(1, 2, 5, 6), Weight([1, 1, 2, 1.5], "float32")], 10, mode="nearest")


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("factors", [(1, 1, 2, 3), (1, 1, 1.7, 2.5)])
def test_upsample(mode, factors):
    check_node("Upsample", [rand(1, 2, 5, 6), Weight(factors, "float32")], 9, mode=mode)


def test_upsample_opset_7():
    check_node("Upsample", [rand(1, 2, 5, 6)], 7, mode="nearest", scales=[1.0, 1.0, 2.0, 2.0])


def _resizes(dtype: str) -> Iterator[Case]:
    """An infinity and NaN in lines of 30: they reach the elements in whose sum they are."""
    x = np.arange(60, dtype=dtype).reshape(2, 30)
    x[0, 15], x[1, 4] = np.nan, np.inf
    for antialias, mode, scale in product((0, 1), ("linear", "cubic"), (1.0, 0.4, 1.7)):
        scales = np.array([1, scale], "f4")
        attrs = {"mode": mode, "antialias": antialias}
        lines = Case("Resize", [np.eye(30), None, Weight(scales)], attrs, 18, by="reference")
        (weights,) = right_answer(lines)
        weights = np.where(np.abs(weights) < 1e-6, 0, weights)
        with np.errstate(invalid="ignore"):
            terms = np.where(weights, x[:, :, None] * weights, 0)
            want = terms.sum(1).astype(dtype)
        for operand in (Weight(scales), scales):
            yield Case("Resize", [x, None, operand], attrs, 18, want=[want], close=1e-4)


def _images(dtype: str) -> Iterator[Case]:
    """Infinities, and neighbours whose distance is past the type, in images of both layouts."""
    far = np.finfo(dtype).max
    row = np.array([1, np.inf, 2, 3, -np.inf, 4, far, -far, far], dtype)
    x = np.zeros((1, 9, 3, 9), dtype)
    x[0, :, 1] = row
    x[0, :, 2] = row[::-1]
    for coordinates in ("half_pixel", "asymmetric", "align_corners"):
        attrs = {"mode": "linear", "coordinate_transformation_mode": coordinates}
        for scales in ([1, 1, 2, 2], [1, 1, 1, 2], [1, 1, 4, 1], [1, 1, 1, 1]):
            place, part = _places(x.shape[2:], scales[2:], coordinates)
            with np.errstate(invalid="ignore"):
                want = _mixed(_mixed(x.astype("f8"), 2, place[0], part[0]), 3, place[1], part[1])
            case = [x, None, Weight(np.array(scales, "f4"))]
            yield Case("Resize", case, attrs, 18, want=[want.astype(dtype)], close=2e-3)


def _places(dims, scales, coordinates):
    """For each axis the left neighbours and how far from them the places are."""
    rows = []
    for dim, scale in zip(dims, scales, strict=True):
        at = np.arange(dim * scale, dtype="f8")
        if coordinates == "half_pixel":
            at = (at + 0.5) / scale - 0.5
        elif coordinates == "asymmetric":
            at = at / scale
        else:
            at = at * (dim - 1) / (dim * scale - 1)
        at = np.clip(at, 0, dim - 1).astype("f4").astype("f8")
        rows.append((np.floor(at).astype(int), at - np.floor(at)))
    return [row[0] for row in rows], [row[1] for row in rows]


def _mixed(x, axis, left, part):
    """Neighbours by their weights; one without a weight is not read."""
    part = part.reshape([-1] + [1] * (x.ndim - 1 - axis))
    right = np.minimum(left + 1, x.shape[axis] - 1)
    a, b = x.take(left, axis), x.take(right, axis)
    return np.where(part > 0, a * (1 - part) + np.where(part > 0, b, 0) * part, a)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_infinite_pixels_and_far_ones(dtype: str, tmp_path: Path) -> None:
    check_together(_images(dtype), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_has_no_weight_does_not_spread(dtype: str, tmp_path: Path) -> None:
    check_together(_resizes(dtype), tmp_path)
