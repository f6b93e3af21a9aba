"""Range, Split and Pad whose sizes are computed at run time, from ONNX to the running package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper, parser

from tests.ops.packages import Arrays, check, ints, model, runner, signs
from tvm_megcc import frontend
from tvm_megcc.errors import ToolError, UnsupportedError

REFUSED = "out of range"


def refused(run: Any, *feeds: Arrays) -> None:
    for feed in feeds:
        with pytest.raises(ToolError, match=REFUSED):
            run(feed)


def limits(dtype: str, *rows: tuple[float, float, float]) -> list[Arrays]:
    return [{k: np.array(v, dtype) for k, v in zip("abc", row, strict=True)} for row in rows]


def range_of(dtype: str) -> Any:
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    ports = [(name, kind, []) for name in "abc"]
    return model([helper.make_node("Range", ["a", "b", "c"], ["y"])], ports, [("y", kind)])


INTS = [(0, 5, 1), (3, 3, 1), (2, 9, 3), (9, 2, -3), (2, 9, -1), (-7, -1, 2), (1, 2, 100)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_range(dtype: str, tmp_path: Path) -> None:
    rows = INTS if "int" in dtype else [*INTS, (0, 1, 0.125), (1, 0, -0.25), (0.5, 3.5, 0.75)]
    check(range_of(dtype), tmp_path, *limits(dtype, *rows))


@pytest.mark.slow
@pytest.mark.parametrize("step", [2.0**-13, np.inf])
def test_range_by_a_known_step_that_is_no_fraction(step: float, tmp_path: Path) -> None:
    known = [numpy_helper.from_array(np.array(v, "f4"), k) for k, v in (("a", 0), ("c", step))]
    node = helper.make_node("Range", ["a", "b", "c"], ["y"])
    proto = model([node], [("b", 1, [])], [("y", 1)], known)
    check(proto, tmp_path, {"b": np.array(2.0**-9, "f4")})


NAN, INF = np.nan, np.inf


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "rows"),
    [
        ("float32", [(0, 1, 0), (1, 1, 0), (0, NAN, 1), (0, INF, 1), (0, 1, 1e-30), (0, 1, NAN)]),
        ("int64", [(0, 1, 0), (0, 2**62, 1), (-(2**63), 2**63 - 1, 2**40)]),
    ],
)
def test_range_without_a_length_is_refused(dtype: str, rows: list[Any], tmp_path: Path) -> None:
    refused(runner(range_of(dtype), tmp_path), *limits(dtype, *rows))


@pytest.mark.slow
def test_range_to_what_a_tensor_holds(tmp_path: Path) -> None:
    known = [numpy_helper.from_array(np.array(v, "i8"), k) for k, v in (("a", 0), ("c", 1))]
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["b"], keepdims=0),
        helper.make_node("Range", ["a", "b", "c"], ["r"]),
        helper.make_node("Mul", ["r", "r"], ["y"]),
    ]
    proto = model(nodes, [("x", T.INT64, ["n"])], [("y", T.INT64)], known)
    check(proto, tmp_path, {"x": ints(3, 7, 1)}, {"x": ints(0)}, {"x": ints(-4, 1)})


@pytest.mark.slow
def test_range_by_a_step_of_either_sign(tmp_path: Path) -> None:
    proto = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 18]>
        g (float[n, m] x) => (int64[k] y)
        <int64 first = {4}, int64[1] zero = {0}> {
            s = Shape(x) n1, m1 = Split <num_outputs = 2> (s) by = Sub(n1, m1)
            n0 = Squeeze(n1, zero) by0 = Squeeze(by, zero) y = Range(first, n0, by0)
        }""")
    check(proto, tmp_path, *({"x": signs(*d)} for d in ((9, 7), (2, 3), (3, 2))))


@pytest.mark.slow
def test_sizes_by_a_scale_that_is_rounded(tmp_path: Path) -> None:
    """Of 97 rows f32 makes 799 by a scale of 800 / 97."""
    proto = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 18]>
        g (float[n, 1] x) => (float[k] y)
        <float[1] most = {800}> {
            n1 = Shape <start = 0, end = 1> (x) real = Cast <to = 1> (n1) scale = Div(most, real)
            product = Mul(real, scale) size = Cast <to = 7> (product) y = ConstantOfShape(size)
        }""")
    check(proto, tmp_path, *({"x": signs(n, 1)} for n in (97, 98, 171)))


@pytest.mark.slow
@pytest.mark.parametrize(("dims", "axis"), [(["n", 6], 1), ([6, 2], 0), (["n"], 0), ([2, "n"], -1)])
def test_split(dims: list[Any], axis: int, tmp_path: Path) -> None:
    node = helper.make_node("Split", ["x", "s"], ["a", "b", "c"], axis=axis)
    ports = [("x", T.FLOAT, dims), ("s", T.INT64, [3])]
    proto = model([node], ports, [(n, T.FLOAT) for n in "abc"])
    x = signs(*(6 if d == "n" else d for d in dims))
    sizes = [(1, 2, 3), (6, 0, 0), (0, 0, 6), (0, 6, 0), (5, 0, 1)]
    check(proto, tmp_path, *({"x": x, "s": ints(*s)} for s in sizes))


@pytest.mark.slow
def test_split_that_does_not_add_up_is_refused(tmp_path: Path) -> None:
    node = helper.make_node("Split", ["x", "s"], ["a", "b"])
    ports = [("x", T.FLOAT, [4, 2]), ("s", T.INT64, [2])]
    run = runner(model([node], ports, [("a", T.FLOAT), ("b", T.FLOAT)]), tmp_path)
    sizes = [(2, 1), (4, 1), (-1, 5), (2**40, 0), (2**31 - 1, 2**31 - 1), (-(2**63), 0)]
    refused(run, *({"x": signs(4, 2), "s": ints(*s)} for s in sizes))


@pytest.mark.slow
def test_split_into_one(tmp_path: Path) -> None:
    node = helper.make_node("Split", ["x", "s"], ["y"])
    run = runner(
        model([node], [("x", T.FLOAT, [4]), ("s", T.INT64, [1])], [("y", T.FLOAT)]), tmp_path
    )
    x = signs(4)
    np.testing.assert_array_equal(run({"x": x, "s": ints(4)})["y"], x)
    refused(run, {"x": x, "s": ints(3)})


PADS = [(0, 0, 0, 0), (1, 2, 0, 1), (2, 0, 1, 3), (-1, 0, 0, -2), (0, -1, 2, 0), (-2, 1, 3, -1)]


def padded(x: np.ndarray, pads: tuple[int, ...], **how: Any) -> np.ndarray:
    """Numpy's, after cropping."""
    pairs = list(zip(pads[: x.ndim], pads[x.ndim :], strict=True))
    for axis, (before, after) in enumerate(pairs):
        end = x.shape[axis] + min(after, 0)
        x = x.take(np.arange(max(-before, 0), end), axis)
    return np.pad(x, [(max(b, 0), max(a, 0)) for b, a in pairs], **how)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_pad_that_repeats(mode: str, tmp_path: Path) -> None:
    node = helper.make_node("Pad", ["x", "p"], ["y"], mode=mode)
    ports = [("x", T.INT32, ["n", 4]), ("p", T.INT64, [4])]
    run = runner(model([node], ports, [("y", T.INT32)], opset=19), tmp_path)
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    widths = [(x, p) for p in [*PADS, (5, 0, 0, 9)]] + [(x[:1], p) for p in PADS[:3]]
    for data, pads in widths:
        found = run({"x": data, "p": ints(*pads)})["y"]
        np.testing.assert_array_equal(found, padded(data, pads, mode=mode))
    # To repeat none, or more than all that there is taken away.
    rows = [(x, (0, -2, 0, -3)), (x, (-3, 0, 1, 0)), (x, (2**62, 0, 0, 0)), (x[:0], (1, 0, 0, 0))]
    refused(run, *({"x": data, "p": ints(*pads)} for data, pads in rows))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool"])
def test_pad_with_a_value(dtype: str, tmp_path: Path) -> None:
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    node = helper.make_node("Pad", ["x", "p", "v"], ["y"])
    ports = [("x", kind, ["n", 4]), ("p", T.INT64, [4]), ("v", kind, [])]
    run = runner(model([node], ports, [("y", kind)], opset=19), tmp_path)
    x, value = np.arange(12).reshape(3, 4).astype(dtype), np.array(1, dtype)
    widths = [(x, p) for p in PADS] + [(x[:1], (-1, 0, 0, 2)), (x[:0], (2, 0, 0, 1))]
    for data, pads in widths:
        found = run({"x": data, "p": ints(*pads), "v": value})["y"]
        np.testing.assert_array_equal(found, padded(data, pads, constant_values=value))
    rows = [(-2, 0, -2, 0), (0, 2**62, 0, 0), (0, -(2**62), 0, 0)]
    refused(run, *({"x": x, "p": ints(*pads), "v": value} for pads in rows))


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_pad_along_some_axes(known: bool, tmp_path: Path) -> None:
    axes = ints(-1, 1)
    node = helper.make_node("Pad", ["x", "p", "", "axes"], ["y"])
    ports = [("x", T.FLOAT, [2, "n", 3]), ("p", T.INT64, [4])]
    weights = [numpy_helper.from_array(axes, "axes")] if known else []
    ports += [] if known else [("axes", T.INT64, [2])]
    proto = model([node], ports, [("y", T.FLOAT)], weights, opset=19)
    feeds = [{"x": signs(2, 5, 3), "p": ints(*p)} for p in ((1, 2, 0, 1), (-1, 0, 2, 3))]
    check(proto, tmp_path, *(f if known else {**f, "axes": axes} for f in feeds))


@pytest.mark.slow
def test_pad_along_an_axis_that_is_not_there_is_refused(tmp_path: Path) -> None:
    node = helper.make_node("Pad", ["x", "p", "", "axes"], ["y"])
    ports = [("x", T.FLOAT, [2, 3]), ("p", T.INT64, [2]), ("axes", T.INT64, [1])]
    run = runner(model([node], ports, [("y", T.FLOAT)], opset=19), tmp_path)
    refused(run, *({"x": signs(2, 3), "p": ints(1, 1), "axes": ints(a)} for a in (2, -3, 2**62)))


@pytest.mark.slow
def test_pad_with_a_value_and_known_widths(tmp_path: Path) -> None:
    node = helper.make_node("Pad", ["x", "p", "v"], ["y"])
    widths = [numpy_helper.from_array(ints(0, 1, 2, -1), "p")]
    ports = [("x", T.FLOAT, [2, "n"]), ("v", T.FLOAT, [1])]
    proto = model([node], ports, [("y", T.FLOAT)], widths, opset=19)
    check(proto, tmp_path, *({"x": signs(2, n), "v": np.float32([n])} for n in (5, 2)))


def test_pad_with_a_number_of_widths_that_fits_no_axes_says_so() -> None:
    node = helper.make_node("Pad", ["x", "p"], ["y"], name="border")
    proto = model([node], [("x", T.FLOAT, [2, 3]), ("p", T.INT64, [2])], [("y", T.FLOAT)])
    with pytest.raises(UnsupportedError, match="Pad 'border': there are 2 widths for 2 axes"):
        frontend.from_onnx(proto)


@pytest.mark.slow
def test_what_is_known_of_an_operand_is_not_read(tmp_path: Path) -> None:
    """Dims that exporters put beside what is computed stay what they are."""
    known = {"four": ints(4), "none": ints(0), "minus": ints(-1)}
    nodes = [
        helper.make_node("Shape", ["x"], ["n"], end=1),
        helper.make_node("Concat", ["n", "k", "four"], ["target"], axis=0),
        helper.make_node("Expand", ["x", "target"], ["a"]),
        helper.make_node("Concat", ["none", "k", "none", "none", "k", "none"], ["pads"], axis=0),
        helper.make_node("Pad", ["x", "pads"], ["b"]),
        helper.make_node("Concat", ["n", "k", "minus"], ["flat"], axis=0),
        helper.make_node("Reshape", ["x", "flat"], ["c"]),
    ]
    weights = [numpy_helper.from_array(value, name) for name, value in known.items()]
    ports = [("x", T.FLOAT, ["n", 1, 4]), ("k", T.INT64, [1])]
    proto = model(nodes, ports, [(name, T.FLOAT) for name in "abc"], weights)
    shapes = {o.name: o.shape for o in frontend.from_onnx(proto).outputs}
    assert {(s[0], s[2]) for name, s in shapes.items() if name != "c"} == {("n", 4)}
    assert shapes["c"][0] == "n"
    check(proto, tmp_path, *({"x": signs(n, 1, 4), "k": ints(k)} for n, k in ((3, 2), (1, 4))))


@pytest.mark.slow
def test_rows_of_an_input_whose_dims_the_run_gives(tmp_path: Path) -> None:
    """A part of the input that begins where data says, beside all of it: it stays in the arena."""
    proto = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[12] x, int64[2] dims) => (float[a, b] y, float[c, b] z)
        <int64[1] zero = {0}, int64[1] one = {1}, int64[1] end = {99}> {
            v = Reshape(x, dims) y = Mul(v, v) z = Slice(v, one, end, zero)
        }""")
    feeds = [(3, 4), (12, 1), (1, 12), (4, -1)]
    check(proto, tmp_path, *({"x": np.arange(12.0, dtype="f4"), "dims": ints(*d)} for d in feeds))
