"""Operators whose axes are computed at run time, from ONNX to the running package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.ops.packages import Arrays, ints, model, runner
from tvm_megcc import frontend
from tvm_megcc.errors import ToolError, UnsupportedError
from tvm_megcc.ops.common.context import IllTypedError

REFUSED = "out of range"
NAN, INF = np.nan, np.inf
RNG = np.random.default_rng(7)

FLOAT_ONLY = ["Mean", "L1", "L2", "LogSum", "LogSumExp", "SumSquare", "Prod"]
EVERYWHERE = ["Max", "Min", "Sum"]


def refused(run: Any, *feeds: Arrays) -> None:
    for feed in feeds:
        with pytest.raises(ToolError, match=REFUSED):
            run(feed)


def same_as_reference(proto: onnx.ModelProto, run: Any, *feeds: Arrays) -> None:
    """Every answer is that of ONNX's reference, but for the order in which floats are added."""
    session = ReferenceEvaluator(proto)
    for feed in feeds:
        found = run(feed)
        with np.errstate(all="ignore"):
            wanted = session.run(None, feed)
        for port, want in zip(proto.graph.output, wanted, strict=True):
            name = port.name
            dtype = helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
            assert (found[name].shape, found[name].dtype) == (want.shape, dtype), name
            np.testing.assert_allclose(found[name], want, 2e-6, 1e-6, err_msg=f"{name}: {feed}")


def reductions(names: list[str], kind: int, dims: list[Any], count: Any) -> onnx.ModelProto:
    """All these reductions of one tensor over the same axes, with and without keepdims."""
    nodes, outputs = [], []
    for name in names:
        for keep in (0, 1) if isinstance(count, int) else (1,):
            for noop in (0, 1):
                out = f"{name}_{keep}{noop}"
                how = {"keepdims": keep, "noop_with_empty_axes": noop}
                nodes.append(helper.make_node(f"Reduce{name}", ["x", "axes"], [out], **how))
                outputs.append((out, kind))
    return model(nodes, [("x", kind, dims), ("axes", T.INT64, [count])], outputs, opset=20)


@pytest.mark.slow
def test_reductions(tmp_path: Path) -> None:
    proto = reductions(EVERYWHERE + FLOAT_ONLY, T.FLOAT, ["n", 3, "m"], 2)
    run = runner(proto, tmp_path)
    shapes = [(2, 3, 4), (1, 3, 1), (5, 3, 2), (3, 3, 9)]
    axes = [ints(0, 2), ints(-1, 1), ints(1, 0), ints(-3, -2)]
    feeds = [{"x": RNG.random(s, "f4") - 0.25, "axes": a} for s in shapes for a in axes]
    same_as_reference(proto, run, *feeds)
    x = feeds[0]["x"]
    bad = [ints(0, 0), ints(0, -3), ints(0, 3), ints(-4, 1), ints(2**62, 0), ints(-(2**63), 1)]
    refused(run, *({"x": x, "axes": a} for a in bad))
    same_as_reference(proto, run, feeds[0])


@pytest.mark.slow
def test_reductions_of_special_floats(tmp_path: Path) -> None:
    proto = reductions(["Max", "Min", "Sum", "L1"], T.FLOAT, ["n", "m"], 1)
    rows = [[INF, 1], [-INF, -INF], [INF, INF], [-INF, 2], [NAN, 1], [1, NAN], [3.4e38, 3.4e38]]
    x = np.array([*rows, [-INF, INF]], "f4")
    feeds = [{"x": v, "axes": ints(a)} for v in (x, x[1:2], x[2:3]) for a in (0, 1)]
    same_as_reference(proto, runner(proto, tmp_path), *feeds)


@pytest.mark.slow
def test_reductions_of_nothing(tmp_path: Path) -> None:
    names = ["Max", "Min", "Sum", "LogSumExp", "LogSum", "L1", "L2", "Prod", "SumSquare"]
    proto = reductions(names, T.FLOAT, ["n", 2, "m"], 1)
    run = runner(proto, tmp_path)
    shapes = [(0, 2, 3), (3, 2, 0), (0, 2, 0)]
    feeds = [{"x": np.zeros(s, "f4"), "axes": ints(a)} for s in shapes for a in (0, 1, 2)]
    same_as_reference(proto, run, *feeds)


@pytest.mark.slow
def test_reductions_of_other_types(tmp_path: Path) -> None:
    nodes, outputs, ports = [], [], [("axes", T.INT64, [1])]
    feeds: list[dict[str, np.ndarray]] = [{"axes": ints(a)} for a in (1, -1, 0, 1, 0)]
    for dtype in ("int32", "int64", "uint8", "bool", "float64"):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        names = ["Max", "Min"]
        if dtype not in ("uint8", "bool"):
            names += ["Sum", "Prod", "L1", "SumSquare"]
        ports.append((dtype, kind, ["n", 4]))
        for name in names:
            out = f"{name}_{dtype}"
            nodes.append(helper.make_node(f"Reduce{name}", [dtype, "axes"], [out]))
            outputs.append((out, kind))
        x = RNG.integers(0, 2 if dtype == "bool" else 9, (3, 4)).astype(dtype)
        for feed, rows in zip(feeds, (3, 1, 3, 0, 1), strict=True):
            feed[dtype] = x[:rows]
    proto = model(nodes, ports, outputs, opset=20)
    same_as_reference(proto, runner(proto, tmp_path), *feeds)


@pytest.mark.slow
def test_as_many_axes_as_the_data_says(tmp_path: Path) -> None:
    proto = reductions(["Max", "Sum", "L2"], T.FLOAT, [2, "n", 3], "k")
    axes = [ints(), ints(1), ints(-1, 0), ints(2, 0, 1)]
    feeds = [{"x": RNG.random((2, n, 3), "f4"), "axes": a} for n in (4, 1) for a in axes]
    run = runner(proto, tmp_path)
    same_as_reference(proto, run, *feeds)
    refused(run, {"x": feeds[0]["x"], "axes": ints(0, 1, 2, 0)})


@pytest.mark.slow
def test_all_axes(tmp_path: Path) -> None:
    """Nothing is left of the shape, and the axes are looked at nonetheless."""
    nodes = [
        helper.make_node("ReduceSum", ["x", "axes"], ["a"], keepdims=0),
        helper.make_node("Squeeze", ["a1", "axes"], ["b"]),
        helper.make_node("Squeeze", ["a", "none"], ["c"]),
        helper.make_node("ReduceMin", ["a", "none"], ["d"], keepdims=0),
    ]
    ports = [("x", T.FLOAT, ["n", 3]), ("a1", T.FLOAT, ["k", "l"]), ("axes", T.INT64, [2]),
             ("none", T.INT64, [0])]  # fmt: skip
    proto = model(nodes, ports, [(name, T.FLOAT) for name in "abcd"], opset=20)
    run = runner(proto, tmp_path)
    feeds = [
        {"x": RNG.random((n, 3), "f4"), "a1": np.full((1, 1), 5, "f4"), "axes": ints(*axes),
         "none": ints()}
        for n, axes in ((2, (0, 1)), (1, (-1, 0)))
    ]  # fmt: skip
    same_as_reference(proto, run, *feeds)
    refused(run, *({**feeds[0], "axes": ints(*axes)} for axes in ((0, 0), (1, 2))))
    with pytest.raises(ToolError):
        run({**feeds[0], "a1": np.zeros((1, 2), "f4")})


def test_a_rank_that_data_decides_is_refused() -> None:
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], name="sum", keepdims=0)
    ports = [("x", T.FLOAT, [2, 3]), ("axes", T.INT64, ["k"])]
    with pytest.raises(UnsupportedError, match="ReduceSum 'sum': how many axes it drops"):
        frontend.from_onnx(model([node], ports, [("y", T.FLOAT)]))


@pytest.mark.slow
def test_axes_that_follow_from_open_dims(tmp_path: Path) -> None:
    """One less than the first dim, the run of which decides, too, whether there is such an axis."""
    ops = ["ReduceSum", "ReduceMax", "Unsqueeze", "CumSum", "Pad"]
    nodes = [
        helper.make_node("Shape", ["x"], ["dims"], start=0, end=1),
        helper.make_node("Sub", ["dims", "one"], ["axis"]),
        helper.make_node("Squeeze", ["axis"], ["number"]),
        *(helper.make_node(op, ["x", "axis"], [op]) for op in ops[:-2]),
        helper.make_node("CumSum", ["x", "number"], ["CumSum"]),
        helper.make_node("Pad", ["x", "pads", "", "axis"], ["Pad"]),
    ]
    weights = [numpy_helper.from_array(ints(1), "one"), numpy_helper.from_array(ints(1, 2), "pads")]
    outputs = [(op, T.FLOAT) for op in ops]
    proto = model(nodes, [("x", T.FLOAT, ["n", 3])], outputs, weights, opset=18)
    run = runner(proto, tmp_path)
    same_as_reference(proto, run, *({"x": RNG.random((n, 3), "f4")} for n in (1, 2, 0)))
    refused(run, {"x": RNG.random((4, 3), "f4")})


@pytest.mark.parametrize("axes", [[2], [-3], [0, -2]])
def test_axes_that_there_are_not_are_refused(axes: list[int]) -> None:
    node = helper.make_node("ReduceMax", ["x"], ["y"], name="peak", axes=axes)
    with pytest.raises(
        IllTypedError, match=r"ReduceMax 'peak': .*ax[ei]s .* of a tensor of rank 2"
    ):
        frontend.from_onnx(model([node], [("x", T.FLOAT, [2, 3])], [("y", T.FLOAT)]))


#: Operators with axes of which ONNX says that they do not repeat -> operands besides x, None: axes.
REPEATED = {
    "CenterCropPad": [ints(2, 3)],
    "MeanVarianceNormalization": [],
    "Pad": [ints(1, 1, 1, 1), "", None],
    "ReduceSum": [None],
    "Resize": ["", "", ints(2, 3)],
    "Slice": [ints(0, 0), ints(1, 1), None],
    "Squeeze": [None],
    "Unsqueeze": [None],
}


@pytest.mark.parametrize("op", REPEATED)
def test_axes_that_repeat_are_refused(op: str) -> None:
    names = ["" if isinstance(v, str) else f"i{k}" for k, v in enumerate(REPEATED[op])]
    axes = ints(0, -4 if op == "Unsqueeze" else -2)
    arrays = [axes if v is None else v for v in REPEATED[op]]
    weights = [numpy_helper.from_array(a, n) for n, a in zip(names, arrays, strict=True) if n]
    given = {} if any(v is None for v in REPEATED[op]) else {"axes": axes.tolist()}
    node = helper.make_node(op, ["x", *names], ["y"], name="twice", **given)
    proto = model([node], [("x", T.FLOAT, [1, 1])], [("y", T.FLOAT)], weights, opset=18)
    with pytest.raises(IllTypedError, match=f"{op} 'twice': takes one axis twice, of .* rank"):
        frontend.from_onnx(proto)


@pytest.mark.slow
def test_the_place_of_an_extreme_needs_an_element(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ArgMax", ["x"], ["a"], axis=0),
        helper.make_node("ArgMin", ["x"], ["b"], axis=-2, select_last_index=1, keepdims=0),
    ]
    proto = model(nodes, [("x", T.FLOAT, ["n", "m"])], [("a", T.INT64), ("b", T.INT64)])
    run = runner(proto, tmp_path)
    x = RNG.integers(0, 3, (5, 4)).astype("f4")
    same_as_reference(proto, run, *({"x": v} for v in (x, x[:1], x[:, :1], x[:, :0])))
    with pytest.raises(ToolError):
        run({"x": x[:0]})
    with pytest.raises(UnsupportedError, match="ArgMax .*dim 0 is 0"):
        frontend.from_onnx(model(nodes, [("x", T.FLOAT, [0, 4])], [("a", T.INT64)]))


@pytest.mark.slow
def test_running_totals(tmp_path: Path) -> None:
    nodes, outputs = [], []
    ways = [(n, e, r, k) for n in ("Sum", "Prod") for e in (0, 1) for r in (0, 1) for k in (0, 1)]
    for name, exclusive, reverse, whole in ways:
        out = f"{name}_{exclusive}{reverse}{whole}"
        how = {"exclusive": exclusive, "reverse": reverse}
        operands = ["i" if whole else "x", "axis"]
        nodes.append(helper.make_node(f"Cum{name}", operands, [out], **how))
        outputs.append((out, T.INT64 if whole else T.FLOAT))
    ports = [("x", T.FLOAT, ["n", 3, "m"]), ("i", T.INT64, ["n", 3, "m"]), ("axis", T.INT32, [])]
    proto = model(nodes, ports, outputs, opset=26)
    run = runner(proto, tmp_path)
    shapes = [(2, 3, 4), (1, 3, 1)]
    feeds = [
        {"x": x.astype("f4"), "i": x, "axis": np.array(a, "i4")}
        for x in (RNG.integers(-3, 4, s) for s in shapes)
        for a in (0, 1, 2, -1, -3)
    ]
    same_as_reference(proto, run, *feeds)
    nothing = {"x": np.zeros((0, 3, 2), "f4"), "i": np.zeros((0, 3, 2), "i8")}
    assert run({**nothing, "axis": np.int32(0)})["Sum_000"].shape == (0, 3, 2)
    refused(run, *({**feeds[0], "axis": np.array(a, "i4")} for a in (3, -4, -(2**31))))


@pytest.mark.slow
def test_slices(tmp_path: Path) -> None:
    names = ["x", "starts", "ends", "axes", "steps"]
    node = helper.make_node("Slice", names, ["y"])
    ports = [("x", T.INT16, ["n", 3, "m"]), *((name, T.INT64, [2]) for name in names[1:])]
    proto = model([node], ports, [("y", T.INT16)])
    x = RNG.integers(-99, 99, (6, 3, 5)).astype(np.int16)
    far = 2**63 - 1
    rows = [
        ((1, 0), (4, 2), (0, 2), (1, 1)),
        ((0, 1), (far, far), (2, 0), (2, 3)),
        ((-1, -1), (-far, -far), (0, -1), (-1, -2)),
        ((far, 4), (-far - 1, 0), (1, 2), (-1, -3)),
        ((5, -3), (1, -1), (0, 1), (-2, 1)),
        ((-4, 2), (-2, 1), (0, 2), (1, 1)),
        ((0, 9), (0, 9), (0, 1), (5, 1)),
        ((0, 0), (far, far), (0, 1), (far, far)),
        ((far, far), (-far, -far), (0, 1), (-far - 1, -far)),
    ]
    run = runner(proto, tmp_path)
    feeds = [dict(zip(names, [x, *(ints(*v) for v in row)], strict=True)) for row in rows]
    same_as_reference(proto, run, *feeds)
    # Below the first element, a backward slice begins at the first one: ONNX, unlike numpy.
    first = run(
        dict(zip(names, [x, ints(-9, 0), ints(-9, 3), ints(0, 1), ints(-1, 1)], strict=True))
    )
    np.testing.assert_array_equal(first["y"], x[:1])
    same_as_reference(proto, run, *({**f, "x": x[:0]} for f in feeds))
    bad = [((0, 1), (1, 0)), ((0, 3), (1, 1)), ((-4, 0), (1, 1)), ((1, 1), (1, 1))]
    whole = [x, ints(0, 0), ints(9, 9)]
    refused(run, *(dict(zip(names, [*whole, ints(*a), ints(*s)], strict=True)) for a, s in bad))


@pytest.mark.slow
def test_squeeze_and_unsqueeze(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Unsqueeze", ["x", "new"], ["wide"]),
        helper.make_node("Squeeze", ["wide", "new"], ["same"]),
        helper.make_node("Squeeze", ["x", "old"], ["narrow"]),
        helper.make_node("Neg", ["wide"], ["minus"]),
        helper.make_node("Squeeze", ["x"], ["all"]),
    ]
    ports = [("x", T.FLOAT, ["n", 1, "m"]), ("new", T.INT64, [2]), ("old", T.INT64, [1])]
    outputs = [(n, T.FLOAT) for n in ("wide", "same", "narrow", "minus", "all")]
    proto = model(nodes, ports, outputs)
    run = runner(proto, tmp_path)
    x = RNG.random((4, 1, 3), "f4")
    feeds = [
        {"x": x, "new": ints(*new), "old": ints(old)}
        for new, old in (((0, 1), 1), ((4, 1), -2), ((-1, -5), 1), ((3, 2), 1))
    ]
    same_as_reference(proto, run, *feeds)
    # Without axes, an open dim of 1 would be squeezed, too.
    refused(run, {"x": x[:1], "new": ints(1, 2), "old": ints(0)})
    bad = [((0, 0), 1), ((5, 0), 1), ((-6, 0), 1), ((0, 1), 0), ((0, 1), 2), ((0, 1), 3)]
    refused(run, *({"x": x, "new": ints(*new), "old": ints(old)} for new, old in bad))


@pytest.mark.slow
def test_diagonals_and_classes(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Trilu", ["x", "k"], ["upper"]),
        helper.make_node("Trilu", ["x", "k"], ["lower"], upper=0),
        helper.make_node("EyeLike", ["x"], ["eye"], dtype=T.BOOL, k=-1),
        helper.make_node("OneHot", ["i", "depth", "values"], ["last"]),
        helper.make_node("OneHot", ["i", "depth", "values"], ["first"], axis=0),
    ]
    ports = [("x", T.INT64, ["n", "m"]), ("k", T.INT64, []), ("i", T.UINT8, ["c"]),
             ("depth", T.FLOAT, []), ("values", T.INT32, [2])]  # fmt: skip
    outputs = [("upper", T.INT64), ("lower", T.INT64), ("eye", T.BOOL), ("last", T.INT32),
               ("first", T.INT32)]  # fmt: skip
    proto = model(nodes, ports, outputs)
    run = runner(proto, tmp_path)
    feeds = [
        {
            "x": RNG.integers(1, 99, shape),
            "k": np.array(k),
            "i": np.array([0, 3, 44, 255], "u1"),
            "depth": np.array(depth, "f4"),
            "values": np.array([-1, 7], "i4"),
        }
        for shape, k, depth in (((3, 4), 1, 4), ((4, 2), -2, 300), ((1, 1), 2**62, 1))
    ]
    same_as_reference(proto, run, *feeds)
    refused(run, *({**feeds[0], "depth": np.array(d, "f4")} for d in (0, -3, 1e18)))
