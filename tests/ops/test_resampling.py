"""Resize and Upsample against ONNX Runtime, and where that differs from ONNX, the standard."""

import numpy as np
import pytest

from tests.ops.cases import Weight, check_node, rand

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
