"""MaxPool's Indices, MaxUnpool, Col2Im, DeformConv, Det, TensorScatter, BitCast and their kin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.ops.cases import rand
from tests.ops.packages import ints, model, runner
from tests.ops.together import case, check_together
from tvm_megcc import frontend
from tvm_megcc.errors import ToolError, UnsupportedError

RNG = np.random.default_rng(3)
NAN, INF = np.nan, np.inf


def whole(*shape: int) -> np.ndarray:
    """Few values, so that several elements of a window are its maximum."""
    return RNG.integers(-2, 3, shape).astype("f4")


def matrices(dtype: str) -> list[np.ndarray]:
    singular = np.outer([1, 2, 3], [4, 5, 6])
    swapped = np.array([[0, 2, 1], [1, 0, 0], [0, 0, -3]])
    return [
        RNG.standard_normal((2, 2, 5, 5)).astype(dtype),
        np.stack([singular, swapped, np.zeros((3, 3)), np.eye(3)]).astype(dtype),
        RNG.standard_normal((1, 1)).astype(dtype),
    ]


@pytest.mark.slow
def test_cases(tmp_path: Path) -> None:
    pool = {"outputs": 2, "opset": 12}
    square = {"kernel_shape": [3, 2]}
    cases = [
        case("MaxPool", [whole(2, 3, 9)], kernel_shape=[3], strides=[2], pads=[1, 1], **pool),
        case("MaxPool", [whole(2, 2, 6, 7)], **square, storage_order=1, **pool),
        case("MaxPool", [whole(1, 2, 7, 6)], **square, strides=[2, 3], ceil_mode=1, **pool),
        case("MaxPool", [whole(1, 1, 7, 7)], **square, dilations=[2, 3], **pool),
        case("MaxPool", [whole(1, 2, 5, 6)], **square, auto_pad="SAME_UPPER", **pool),
        case("MaxPool", [whole(1, 2, 5, 6)], **square, auto_pad="SAME_LOWER", **pool),
        case("MaxPool", [whole(1, 2, 4, 5, 3)], kernel_shape=[2, 2, 2], storage_order=1, **pool),
        case("MaxPool", [whole(2, 1, 4, 4).astype("i1")], **square, **pool),
        *(case("Det", [m], 11) for dtype in ("f4", "f8") for m in matrices(dtype)),
    ]
    for p in (1, 2):
        x = rand(2, 3, 4)
        x[0] = 0
        cases += [case("LpNormalization", [x], 1, p=p, axis=axis) for axis in (0, 1, -1)]
    for group, offset_group, bias, mask, dtype in (
        (1, 1, False, False, "f4"),
        (2, 1, True, False, "f4"),
        (1, 2, True, True, "f8"),
        (2, 4, False, True, "f4"),
    ):
        out = 4, 3
        offsets = RNG.uniform(-3, 3, (2, offset_group * 12, *out)).astype(dtype)
        operands = [
            rand(2, 4, 6, 7).astype(dtype),
            rand(6, 4 // group, 3, 2).astype(dtype),
            offsets,
            rand(6).astype(dtype) if bias else None,
            rand(2, offset_group * 6, *out).astype(dtype) if mask else None,
        ]
        how = {"strides": [2, 2], "pads": [2, 0, 1, 1], "dilations": [1, 2]}
        cases.append(
            case("DeformConv", operands, 19, group=group, offset_group=offset_group, **how)
        )
    bits = np.array([0, 1, -1, 2**30, 0x7FC00000, -(2**31)], "i8").astype("i4")
    cases += [
        case("BitCast", [bits], 26, to=T.FLOAT, wants=[bits.view("f4")]),
        case("BitCast", [rand(2, 3)], 26, to=T.UINT32),
        case("BitCast", [rand(4).astype("f2")], 26, to=T.INT16),
        case("BitCast", [np.array([True, False])], 26, to=T.INT8),
    ]
    check_together(cases, tmp_path)


@pytest.mark.slow
def test_unpooled(tmp_path: Path) -> None:
    """What is pooled and unpooled with open dims, into dims that are given at run time."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["y", "at"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("MaxUnpool", ["y", "at"], ["z"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node(
            "MaxUnpool", ["y", "at", "dims"], ["w"], kernel_shape=[2, 2], strides=[2, 2]
        ),
        helper.make_node(
            "MaxUnpool", ["y", "given", "dims"], ["v"], kernel_shape=[2, 2], strides=[2, 2]
        ),
    ]
    ports = [("x", T.FLOAT, ["n", 2, "h", "w"]), ("dims", T.INT64, [4]),
             ("given", T.INT64, ["n", 2, "a", "b"])]  # fmt: skip
    proto = model(nodes, ports, [(name, T.FLOAT) for name in "zwv"] + [("at", T.INT64)])
    run, reference = runner(proto, tmp_path), ReferenceEvaluator(proto)
    for n, h, w in ((1, 4, 6), (2, 2, 2), (2, 6, 4)):
        given = RNG.permutation(n * 2 * h * w)[: n * h * w // 2].reshape(n, 2, h // 2, w // 2)
        feed = {"x": rand(n, 2, h, w), "dims": ints(n, 2, h + 1, w + 2), "given": given}
        for port, want in zip(proto.graph.output, reference.run(None, feed), strict=True):
            np.testing.assert_array_equal(run(feed)[port.name], want)
    # An index that names no place of what was pooled ends the run.
    for far in (10**6, -1):
        stray = given.copy()
        stray[0, 0, 0] = far
        with pytest.raises(ToolError, match="MaxUnpool 'v': .* out of range"):
            run({**feed, "given": stray})
    with pytest.raises(ToolError, match="out of range"):
        run({**feed, "dims": ints(1, 2, -1, 4)})
    for smaller in ((h - 1, w), (h, w - 1), (h - 1, 2 * w)):
        with pytest.raises(ToolError, match="out of range"):
            run({**feed, "dims": ints(n, 2, *smaller)})


@pytest.mark.slow
def test_columns_to_an_image(tmp_path: Path) -> None:
    how = [
        {"strides": [2, 1], "pads": [0, 1, 1, 0]},
        {"dilations": [1, 2]},
        {},
    ]
    nodes, ports, feeds = [], [], {"image": ints(5, 6), "block": ints(2, 3)}
    for k, attrs in enumerate(how):
        nodes.append(helper.make_node("Col2Im", [f"x{k}", "image", "block"], [f"y{k}"], **attrs))
        ports.append((f"x{k}", T.FLOAT, ["n", "rows", None]))
        strides, dilations = attrs.get("strides", [1, 1]), attrs.get("dilations", [1, 1])
        pads = attrs.get("pads", [0] * 4)
        steps = [
            (size + pads[i] + pads[2 + i] - dilations[i] * (block - 1) - 1) // strides[i] + 1
            for i, (size, block) in enumerate(((5, 2), (6, 3)))
        ]
        feeds[f"x{k}"] = rand(2, 12, steps[0] * steps[1])
    ports += [("image", T.INT64, [2]), ("block", T.INT64, [2])]
    proto = model(nodes, ports, [(f"y{k}", T.FLOAT) for k in range(3)], opset=18)
    run, wanted = runner(proto, tmp_path), ReferenceEvaluator(proto).run(None, feeds)
    for k, want in enumerate(wanted):
        np.testing.assert_allclose(run(feeds)[f"y{k}"], want, 1e-5, 1e-5)
    for wrong in ({"image": ints(5, 7)}, {"block": ints(0, 3)}, {"block": ints(5, 1)}):
        with pytest.raises(ToolError):
            run({**feeds, **wrong})


@pytest.mark.slow
def test_open_dims(tmp_path: Path) -> None:
    how = {"strides": [2, 1], "pads": [1, 0, 1, 2], "offset_group": 2}
    nodes = [
        helper.make_node("DeformConv", ["x", "w", "offset", "", "mask"], ["a"], **how),
        helper.make_node("Det", ["m"], ["b"]),
        helper.make_node("LpNormalization", ["x"], ["c"], axis=1),
        helper.make_node("AffineGrid", ["theta", "size"], ["d"], align_corners=1),
        helper.make_node("AffineGrid", ["theta", "size"], ["e"]),
    ]
    ports = [("x", T.FLOAT, ["n", 4, "h", "w"]), ("offset", T.FLOAT, ["n", 16, "p", "q"]),
             ("mask", T.FLOAT, ["n", 8, "p", "q"]), ("m", T.FLOAT, ["n", "k", "k"]),
             ("theta", T.FLOAT, ["n", 2, 3]), ("size", T.INT64, [4])]  # fmt: skip
    weights = [numpy_helper.from_array(rand(3, 4, 2, 2), "w")]
    proto = model(nodes, ports, [(name, T.FLOAT) for name in "abcde"], weights, opset=22)
    run, reference = runner(proto, tmp_path), ReferenceEvaluator(proto)
    for n, h, w, k in ((2, 5, 4, 4), (1, 2, 6, 1)):
        places = (h + 2 - 2) // 2 + 1, (w + 2 - 2) + 1
        feed = {
            "x": rand(n, 4, h, w),
            "offset": RNG.uniform(-2, 2, (n, 16, *places)).astype("f4"),
            "mask": rand(n, 8, *places),
            "m": rand(n, k, k),
            "theta": rand(n, 2, 3),
            "size": ints(n, 1, h, w),
        }
        found = run(feed)
        for name, want in zip("abcde", reference.run(None, feed), strict=True):
            np.testing.assert_allclose(found[name], want, 1e-4, 1e-4, err_msg=name)
        with pytest.raises(ToolError):
            run({**feed, "size": ints(n + 1, 1, h, w)})
        with pytest.raises(ToolError):
            run({**feed, "offset": rand(n, 16, places[0] + 1, places[1])})


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_rows_into_a_cache(mode: str, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("TensorScatter", ["cache", "update", "at"], ["y"], mode=mode),
        helper.make_node("TensorScatter", ["cache", "update"], ["z"], mode=mode),
    ]
    ports = [("cache", T.FLOAT, ["b", 2, "s", 3]), ("update", T.FLOAT, ["b", 2, "t", 3]),
             ("at", T.INT64, ["b"])]  # fmt: skip
    proto = model(nodes, ports, [("y", T.FLOAT), ("z", T.FLOAT)], opset=24)
    run, reference = runner(proto, tmp_path), ReferenceEvaluator(proto)
    rows = [((0, 3), 2), ((2, 1), 2), ((4, 4), 1), ((0, 0), 5)]
    rows += [((4, 7), 3), ((9, 5), 5)] if mode == "circular" else []
    cache = rand(2, 2, 5, 3)
    for at, count in rows:
        feed = {"cache": cache, "update": rand(2, 2, count, 3), "at": ints(*at)}
        for port, want in zip("yz", reference.run(None, feed), strict=True):
            np.testing.assert_array_equal(run(feed)[port], want)
    bad = [((0, 0), 6)] + ([((0, 4), 2), ((-1, 0), 2)] if mode == "linear" else [])
    for at, count in bad:
        with pytest.raises(ToolError):
            run({"cache": cache, "update": rand(2, 2, count, 3), "at": ints(*at)})


def test_widths_that_differ_are_refused() -> None:
    node = helper.make_node("BitCast", ["x"], ["y"], name="bits", to=T.INT64)
    proto = model([node], [("x", T.FLOAT, [2])], [("y", T.INT64)], opset=26)
    with pytest.raises(UnsupportedError, match="BitCast 'bits': float32 as int64"):
        frontend.from_onnx(proto)


@pytest.mark.parametrize(
    ("node", "ports", "opset", "words"),
    [
        (helper.make_node("BitCast", ["x"], ["y"], name="n", to=T.FLOAT8E4M3FN),
         [("x", T.UINT8, [2])], 26, "float8_e4m3fn"),
        (helper.make_node("TensorScatter", ["x", "u"], ["y"], name="n", axis=0),
         [("x", T.FLOAT, [2, 4, 3]), ("u", T.FLOAT, [2, 4, 3])], 24, "axis is 0"),
        (helper.make_node("Col2Im", ["x", "image", "block"], ["y"], name="n"),
         [("x", T.BOOL, [1, 4, 4])], 18, "sums of bools"),
    ],
)  # fmt: skip
def test_what_is_refused_says_why(node, ports, opset, words) -> None:
    sizes = {"image": ints(3, 3), "block": ints(2, 2)}
    weights = [numpy_helper.from_array(v, k) for k, v in sizes.items() if k in node.input]
    proto = model([node], ports, [("y", T.UNDEFINED)], weights, opset=opset)
    with pytest.raises(UnsupportedError, match=f"{node.op_type} 'n': .*{words}.*; "):
        frontend.from_onnx(proto)
