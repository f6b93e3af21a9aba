"""Resize by sizes, scales and roi that are computed at run time, beside ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.ops.packages import RNG, Arrays, answers, ints, model, runner
from tvm_megcc import frontend
from tvm_megcc.dims import Symbol, at, symbol
from tvm_megcc.errors import ToolError, UnsupportedError
from tvm_megcc.shapes.sizes import Real, scale_of

MODES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]
SCALES = [(1, 1, 2.3, 0.7), (1, 1, 1, 1), (1, 1, 0.5, 0.2), (1, 1, 2, 3)]
SIZES = [(1, 2, 10, 9), (1, 2, 5, 6), (1, 2, 1, 1), (1, 2, 3, 13)]
OPEN, FIXED = [1, 2, "h", "w"], [1, 2, 5, 6]
IMAGE = RNG.uniform(size=(1, 2, 5, 6)).astype("f4")


def resize(
    by: str, dims: list[Any], count: int = 4, opset: int = 19, **attrs: Any
) -> onnx.ModelProto:
    """One Resize; ``by`` is "scales" or "sizes", so many of them."""
    operands = ["x", "", "s"] if by == "scales" else ["x", "", "", "s"]
    kind = T.FLOAT if by == "scales" else T.INT64
    node = helper.make_node("Resize", operands, ["y"], name="grow", **attrs)
    ports = [("x", T.FLOAT, dims), ("s", kind, [count])]
    return model([node], ports, [("y", T.FLOAT)], opset=opset)


def feeds(by: str, rows: list[tuple[float, ...]], x: np.ndarray = IMAGE) -> list[Arrays]:
    return [{"x": x, "s": np.array(row, "f4" if by == "scales" else "i8")} for row in rows]


def check(proto: onnx.ModelProto, folder: Path, given: list[Arrays], close: float = 1e-5) -> None:
    for found, want in answers(proto, folder, given):
        assert found.shape == want.shape
        np.testing.assert_allclose(found, want, rtol=close, atol=close)


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", MODES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize_by_scales(mode: str, coordinates: str, tmp_path: Path) -> None:
    proto = resize("scales", OPEN, mode=mode, coordinate_transformation_mode=coordinates)
    check(proto, tmp_path, feeds("scales", SCALES))


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", MODES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_to_sizes(mode: str, coordinates: str, tmp_path: Path) -> None:
    proto = resize("sizes", FIXED, mode=mode, coordinate_transformation_mode=coordinates)
    check(proto, tmp_path, feeds("sizes", SIZES))


@pytest.mark.slow
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_resize_nearest(rounding: str, tmp_path: Path) -> None:
    attrs = dict(mode="nearest", nearest_mode=rounding, coordinate_transformation_mode="half_pixel")
    check(resize("scales", OPEN, **attrs), tmp_path, feeds("scales", SCALES), close=0)


@pytest.mark.slow
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil"])
def test_resize_nearest_takes_what_is_next_to_the_middle_for_it(
    rounding: str, tmp_path: Path
) -> None:
    """2 / (4 / 7) is 3.5, and 3.4999998 in f32."""
    image = RNG.uniform(size=(1, 2, 7, 17)).astype("f4")
    rows = [(1, 2, 4, 5), (1, 2, 5, 9), (1, 2, 6, 12)]
    for coordinates in ("asymmetric", "half_pixel"):
        attrs = dict(nearest_mode=rounding, coordinate_transformation_mode=coordinates)
        proto = resize("sizes", OPEN, mode="nearest", **attrs)
        (folder := tmp_path / coordinates).mkdir()
        check(proto, folder, feeds("sizes", rows, image), close=0)


@pytest.mark.slow
def test_resize_as_tensorflow_does_nearest(tmp_path: Path) -> None:
    attrs = dict(nearest_mode="floor", coordinate_transformation_mode="tf_half_pixel_for_nn")
    node = helper.make_node("Resize", ["x", "roi", "s"], ["y"], mode="nearest", **attrs)
    roi = numpy_helper.from_array(np.zeros(0, "f4"), "roi")
    ports = [("x", T.FLOAT, FIXED), ("s", T.FLOAT, [4])]
    proto = model([node], ports, [("y", T.FLOAT)], [roi], opset=11)
    check(proto, tmp_path, feeds("scales", SCALES), close=0)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize_along_some_axes(mode: str, tmp_path: Path) -> None:
    proto = resize("sizes", ["n", 2, "h", "w"], 2, mode=mode, axes=[3, 2])
    rows = [(9, 10), (6, 5), (1, 1), (13, 3)]
    check(proto, tmp_path, feeds("sizes", rows) + feeds("sizes", rows[:1], IMAGE[:, :, :1]))


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_resize_keeps_the_aspect_ratio(policy: str, tmp_path: Path) -> None:
    attrs = dict(mode="nearest", axes=[2, 3], keep_aspect_ratio_policy=policy)
    rows = [(8, 8), (2, 9), (5, 6), (1, 1)]
    check(resize("sizes", OPEN, 2, **attrs), tmp_path, feeds("sizes", rows), close=0)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_without_outside(mode: str, tmp_path: Path) -> None:
    attrs = dict(mode=mode, exclude_outside=int(mode == "cubic"), cubic_coeff_a=-0.5)
    check(resize("scales", OPEN, **attrs), tmp_path, feeds("scales", SCALES))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize_crop(mode: str, tmp_path: Path) -> None:
    attrs = dict(coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0)
    node = helper.make_node("Resize", ["x", "roi", "", "s"], ["y"], mode=mode, **attrs)
    ports = [("x", T.FLOAT, FIXED), ("roi", T.FLOAT, [8]), ("s", T.INT64, [4])]
    parts = [(0, 0, 0.2, -0.1, 1, 1, 0.7, 1.2), (0, 0, 0, 0, 1, 1, 1, 1)]
    sizes = [(1, 2, 4, 7), (1, 2, 1, 3)]
    given = [{"x": IMAGE, "roi": np.array(r, "f4"), "s": ints(*s)} for r in parts for s in sizes]
    check(model([node], ports, [("y", T.FLOAT)], opset=13), tmp_path, given)


@pytest.mark.slow
def test_resize_to_nothing(tmp_path: Path) -> None:
    proto = resize("scales", OPEN, 2, mode="nearest", axes=[2, 3])
    check(proto, tmp_path, feeds("scales", [(3, 0.1), (0.1, 0.1)]), close=0)


@pytest.mark.slow
def test_resize_to_what_is_no_size_is_refused(tmp_path: Path) -> None:
    bad = {
        "scales": [(0, 3), (-1, 2), (1e12, 1), (np.nan, 1), (np.inf, 1), (1e5, 1e5)],
        "sizes": [(-1, 3), (2**40, 1), (-(2**63), 1), (2**31, 1)],
    }
    for by, rows in bad.items():
        folder = tmp_path / by
        folder.mkdir()
        run = runner(resize(by, OPEN, 2, mode="linear", axes=[2, 3]), folder)
        nothing = feeds(by, [(2, 2), (1, 2)], IMAGE[:, :, :0])
        for feed in [*feeds(by, rows), *(nothing if by == "sizes" else [])]:
            with pytest.raises(ToolError, match="out of range"):
                run(feed)


@pytest.mark.slow
@pytest.mark.parametrize("op", ["Resize", "Upsample"])
def test_older_operators(op: str, tmp_path: Path) -> None:
    node = helper.make_node(op, ["x", "s"], ["y"], mode="nearest")
    ports = [("x", T.FLOAT, FIXED), ("s", T.FLOAT, [4])]
    proto = model([node], ports, [("y", T.FLOAT)], opset=10 if op == "Resize" else 9)
    rows = SCALES if op == "Resize" else [(1, 1, 2, 3), (1, 1, 1, 1), (1, 1, 1.7, 2.5)]
    check(proto, tmp_path, feeds("scales", rows), close=0)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize_leaves_alone_what_is_known_to_stay(mode: str, tmp_path: Path) -> None:
    ones = numpy_helper.from_array(np.ones(2, "f4"), "ones")
    nodes = [
        helper.make_node("Shape", ["x"], ["nc"], end=2),
        helper.make_node("Concat", ["nc", "hw"], ["s"], axis=0),
        helper.make_node("Concat", ["ones", "f"], ["by"], axis=0),
        helper.make_node("Resize", ["x", "", "", "s"], ["y"], mode=mode),
        helper.make_node("Resize", ["x", "", "by"], ["z"], mode=mode),
    ]
    ports = [("x", T.FLOAT, ["n", 2, "h", "w"]), ("hw", T.INT64, [2]), ("f", T.FLOAT, [2])]
    outputs = [("y", T.FLOAT), ("z", T.FLOAT)]
    proto = model(nodes, ports, outputs, [ones], opset=19)
    shapes = [o.shape for o in frontend.from_onnx(proto).outputs]
    assert [s[:2] for s in shapes] == [("n", 2), ("n", 2)]
    sizes = (((9, 4), (1.5, 2)), ((1, 1), (1, 1)), ((5, 13), (0.4, 3)))
    check(proto, tmp_path, [
        {"x": IMAGE, "hw": ints(*size), "f": np.array(factor, "f4")} for size, factor in sizes
    ])  # fmt: skip


def test_a_number_of_sizes_that_fits_no_axes_says_so() -> None:
    proto = resize("sizes", FIXED, 3)
    with pytest.raises(UnsupportedError, match="Resize 'grow': 3 sizes for 4 axes; give one"):
        frontend.from_onnx(proto)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_antialiased(mode: str, tmp_path: Path) -> None:
    """As many weights as the scale asks for, also where the result is larger."""
    how = {"mode": mode, "antialias": 1}
    nodes = [
        helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **how),
        helper.make_node("Resize", ["x", "", "scales"], ["z"], **how, exclude_outside=1),
    ]
    ports = [("x", T.FLOAT, [1, 2, "h", "w"]), ("sizes", T.INT64, [4]), ("scales", T.FLOAT, [4])]
    proto = model(nodes, ports, [("y", T.FLOAT), ("z", T.FLOAT)], opset=18)
    run, reference = runner(proto, tmp_path), ReferenceEvaluator(proto)
    for h, w, sizes, scales in (
        (9, 8, (3, 5), (0.3, 1.0)),
        (5, 6, (7, 1), (1.5, 0.17)),
        (1, 4, (2, 4), (1.0, 0.5)),
    ):
        feed = {
            "x": RNG.standard_normal((1, 2, h, w)).astype("f4"),
            "sizes": ints(1, 2, *sizes),
            "scales": np.array([1, 1, *scales], "f4"),
        }
        for name, want in zip("yz", reference.run(None, feed), strict=True):
            np.testing.assert_allclose(run(feed)[name], want, 1e-4, 1e-5, err_msg=str(sizes))


@pytest.mark.slow
def test_antialiased_bytes_are_rounded_as_everywhere(tmp_path: Path) -> None:
    """A tie falls as the weights of 22 bits say, of known sizes and of others."""
    nodes, weights = [], []
    for mode in ("linear", "cubic"):
        for place in ("half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners"):
            for outside in (0, 1):
                for x, scales in (("x", "scales"), ("f", "factors")):
                    if (x, mode) == ("x", "cubic"):
                        continue  # one in 2^22 of a weight is up to the machine
                    name = f"{x}_{mode}_{place}_{outside}"
                    how = {"mode": mode, "coordinate_transformation_mode": place, "antialias": 1}
                    how["exclude_outside"] = outside
                    nodes.append(helper.make_node("Resize", [x, "", scales], [name], **how))
    weights.append(numpy_helper.from_array(np.array([1, 1, 1.5, 0.7], "f4"), "factors"))
    ports = [
        ("x", T.UINT8, [1, 2, "h", "w"]),
        ("scales", T.FLOAT, [4]),
        ("f", T.UINT8, [1, 6, 9, 8]),
    ]
    results = [(n.output[0], T.UINT8) for n in nodes]
    feeds = [
        {
            "x": RNG.integers(0, most, (1, 2, h, w)).astype("u1"),
            "f": RNG.integers(0, most, (1, 6, 9, 8)).astype("u1"),
            "scales": np.array([1, 1, *scales], "f4"),
        }
        for most, h, w, scales in (
            (10, 9, 8, (0.3, 1.5)),
            (256, 5, 6, (3.0, 0.5)),
            (10, 12, 7, (1.5, 2.3)),
        )
    ]
    check(model(nodes, ports, results, weights, opset=18), tmp_path, feeds)


@pytest.mark.slow
@pytest.mark.parametrize(
    "attrs",
    [
        {"mode": "nearest", "coordinate_transformation_mode": "asymmetric",
         "nearest_mode": "floor"},
        {"mode": "linear"},
        {"mode": "cubic"},
    ],
    ids=["nearest", "linear", "cubic"],
)  # fmt: skip
def test_resize_of_nothing_to_the_size_of_another(attrs: dict[str, str], tmp_path: Path) -> None:
    """Sizes that are another image's dims, as feature pyramids have them."""
    nodes = [
        helper.make_node("Shape", ["other"], ["s"]),
        helper.make_node("Resize", ["x", "", "", "s"], ["y"], name="grow", **attrs),
    ]
    ports = [("x", T.FLOAT, [1, 2, "h", 6]), ("other", T.FLOAT, [1, 2, "p", 7])]
    proto = model(nodes, ports, [("y", T.FLOAT)], opset=19)
    other = np.ones((1, 2, 4, 7), "f4")
    run = runner(proto, tmp_path)
    (want,) = ReferenceEvaluator(proto).run(None, {"x": IMAGE, "other": other})
    np.testing.assert_allclose(run({"x": IMAGE, "other": other})["y"], want, rtol=1e-5, atol=1e-5)
    with pytest.raises(ToolError, match="grow"):
        run({"x": IMAGE[:, :, :0], "other": other})
    assert run({"x": IMAGE[:, :, :0], "other": other[:, :, :0]})["y"].shape == (1, 2, 0, 7)


def by_known_scales(
    op: str, opset: int, rows: list[tuple[float, float]], ways: list[dict[str, Any]]
) -> tuple[onnx.ModelProto, list[tuple[str, int]]]:
    """An image of open height and width, resized by each pair of scales in turn, in each way."""
    nodes, weights = [], []
    for k, attrs in enumerate(ways * (-(-len(rows) // len(ways)))):
        value = np.array([1, 1, *rows[k % len(rows)]], "f4")
        operands, scales = ["x", "", f"s{k}"], {}
        if opset == 7:
            operands, scales = ["x"], {"scales": value.tolist()}
        elif opset < 11:
            operands = ["x", f"s{k}"]
        if opset != 7:
            weights.append(numpy_helper.from_array(value, f"s{k}"))
        nodes.append(helper.make_node(op, operands, [f"y{k}"], **attrs, **scales))
    results = [(f"y{k}", T.FLOAT) for k in range(len(nodes))]
    return model(nodes, [("x", T.FLOAT, [1, 1, "h", "w"])], results, weights, opset), results


#: Scales with a fraction whose products f32 rounds alike at all sizes, and (1.3, 2.1) without one.
ALL_SCALES = [(0.6, 1.2), (1.2, 0.7), (1.3, 2.1), (0.5, 1.3), (2.3, 0.6), (1.5, 1.3)]
LARGER = [(1.2, 1.3), (2.1, 1.5), (1.3, 1.7)]
PLAIN = [{"mode": "nearest"}, {"mode": "linear"}]
WAYS = [*PLAIN, {"mode": "cubic"}, {"mode": "linear", "antialias": 1}, *reversed(PLAIN)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "opset", "rows", "ways"),
    [
        ("Resize", 19, ALL_SCALES, WAYS),
        ("Upsample", 9, LARGER, PLAIN),
    ],
)
def test_open_dims_by_known_scales(
    op: str, opset: int, rows: list[Any], ways: list[Any], tmp_path: Path
) -> None:
    """Sizes are ``floor(dim * scale)`` in f32: 10 * 1.3 is 13, and 90 * 1.3 is 116."""
    proto, _ = by_known_scales(op, opset, rows, ways)
    images = [RNG.uniform(size=(1, 1, *dims)).astype("f4") for dims in ((90, 10), (5, 45), (1, 61))]
    check(proto, tmp_path, [{"x": x} for x in images])


@pytest.mark.parametrize(("op", "opset"), [("Upsample", 7), ("Resize", 10)])
def test_older_operators_make_the_same_sizes(op: str, opset: int) -> None:
    models = (
        by_known_scales(*kind, LARGER, PLAIN[:1])[0] for kind in ((op, opset), ("Upsample", 9))
    )
    found, want = (frontend.from_onnx(proto).outputs for proto in models)
    assert [o.shape for o in found] == [o.shape for o in want]


def test_a_scale_of_bounded_dims_that_has_a_fraction_there() -> None:
    """1.3 is 13/10 for sizes up to 80: the output's size is known before the run."""
    proto, _ = by_known_scales("Resize", 19, [(1.3, 1.2)], [{"mode": "linear"}])
    bounded = {"x": [1, 1, Symbol("h", 1, 80), Symbol("w", 1, None)]}
    (output,) = frontend.from_onnx(proto, bounded).outputs
    assert output.shape[2:] == ("13*h//10", "6*w//5")
    (output,) = frontend.from_onnx(proto).outputs
    assert output.shape[3] == "6*w//5" and output.shape[2] != "13*h//10"


@pytest.mark.parametrize("scale", [0.6, 0.7, 1.1, 1.2, 1.3, 2.1, 7 / 3, 0.1, 33 / 1000, 1.05])
def test_a_fraction_stands_for_what_f32_makes_of_a_scale(scale: float) -> None:
    single = float(np.float32(scale))
    for high in (40, None):
        size = symbol("n", 1, high)
        fraction, sizes = scale_of(size, single), np.arange(1, (high or 2000) + 1)
        want = np.floor(sizes.astype("f4") * np.float32(scale)).astype(int)
        found = sizes * 0 - 1
        if fraction is not None:
            product = Real.of(size).times(fraction).floor()
            found = np.array([at(product, {"n": int(n)}) for n in sizes])
        assert np.array_equal(found, want) == (fraction is not None)
