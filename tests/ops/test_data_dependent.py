"""Operators whose results have sizes that only the data says, from ONNX to the running package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from tests.ops.packages import RNG, check, ints, model, runner, signs
from tvm_megcc.errors import ToolError
from tvm_megcc.frontend import from_onnx
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.exprs import expressions


@pytest.mark.slow
@pytest.mark.parametrize("shape", [[3, 4], ["n", 4], ["n"]])
def test_nonzero(shape: list[int | str], tmp_path: Path) -> None:
    proto = model(
        [helper.make_node("NonZero", ["x"], ["y"])], [("x", T.FLOAT, shape)], [("y", T.INT64)]
    )
    sizes = [[n if isinstance(d, str) else d for d in shape] for n in (3, 1, 7)]
    check(proto, tmp_path, *({"x": signs(*s)} for s in sizes), {"x": np.zeros(sizes[0], "f4")},
          {"x": np.ones(sizes[1], "f4")})  # fmt: skip


@pytest.mark.parametrize(
    "shape, names",
    [
        ([], ""),
        (["n"], ""),
        ([7], ""),
        (["n", 4], "floor_mod floor_divide concat"),
        ([3, 1, "m"], "floor_mod floor_divide floor_mod floor_divide concat"),
    ],
    ids=str,
)
def test_nonzero_of_an_axis_is_its_positions(shape: list[int | str], names: str) -> None:
    """Indices of several axes are divisions of a position, one after the other."""
    proto = model(
        [helper.make_node("NonZero", ["x"], ["y"])], [("x", T.FLOAT, shape)], [("y", T.INT64)]
    )
    calls = map(op_name, expressions(from_onnx(proto).mod["main"]))
    kinds = ("relax.floor_mod", "relax.floor_divide", "relax.concat")
    assert [name.removeprefix("relax.") for name in calls if name in kinds] == names.split()


@pytest.mark.slow
@pytest.mark.parametrize("shape", [[3, 4, 2], ["n", 4, 2]])
def test_parts_whose_place_depends_on_data(shape: list[int | str], tmp_path: Path) -> None:
    """Rows of [3, k] lie k elements apart, which is known once k is: as outputs, and for a call."""
    nodes = [
        helper.make_node("NonZero", ["x"], ["i"]),
        helper.make_node("Split", ["i"], ["a", "b", "c"], axis=0),
        helper.make_node("Slice", ["i", "one", "three", "zero"], ["d"]),
        helper.make_node("Mul", ["b", "c"], ["e"]),
    ]
    limits = [
        numpy_helper.from_array(ints(n), s) for s, n in (("zero", 0), ("one", 1), ("three", 3))
    ]
    proto = model(nodes, [("x", T.FLOAT, shape)], [(y, T.INT64) for y in "bcde"], limits)
    sizes = [[n if isinstance(d, str) else d for d in shape] for n in (3, 1, 7)]
    check(proto, tmp_path, *({"x": signs(*s)} for s in sizes), {"x": np.zeros(sizes[0], "f4")})


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_compress(axis: int | None, tmp_path: Path) -> None:
    attrs = {} if axis is None else {"axis": axis}
    node = helper.make_node("Compress", ["x", "c"], ["y"], **attrs)
    proto = model([node], [("x", T.FLOAT, [3, 4]), ("c", T.BOOL, [3])], [("y", T.FLOAT)])
    conditions = ([1, 0, 1], [0, 0, 0], [1, 1, 1])
    check(proto, tmp_path, *({"x": signs(3, 4), "c": np.array(c, bool)} for c in conditions))


@pytest.mark.slow
def test_selection_by_condition(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Greater", ["x", "zero"], ["g"]),
        helper.make_node("NonZero", ["g"], ["i"]),
        helper.make_node("Transpose", ["i"], ["t"]),
        helper.make_node("GatherND", ["x", "t"], ["v"]),
        helper.make_node("Relu", ["v"], ["y"]),
    ]
    zero = numpy_helper.from_array(np.float32(0), "zero")
    proto = model(nodes, [("x", T.FLOAT, ["n", 4])], [("y", T.FLOAT)], [zero])
    check(proto, tmp_path, {"x": signs(3, 4)}, {"x": -np.ones((2, 4), "f4")}, {"x": signs(9, 4)})


@pytest.mark.slow
@pytest.mark.parametrize("largest", [0, 1])
def test_topk(largest: int, tmp_path: Path) -> None:
    node = helper.make_node("TopK", ["x", "k"], ["v", "i"], axis=1, largest=largest)
    proto = model(
        [node], [("x", T.FLOAT, [2, 6]), ("k", T.INT64, [1])], [("v", T.FLOAT), ("i", T.INT64)]
    )
    x = RNG.permutation(12).reshape(2, 6).astype("float32")
    check(proto, tmp_path, *({"x": x, "k": ints(k)} for k in (1, 3, 6, 0)))


@pytest.mark.slow
@pytest.mark.parametrize("axis", [0, 1])
def test_topk_over_an_open_axis(axis: int, tmp_path: Path) -> None:
    """As many as data says, all there are, half of them, as many as another input has."""
    nodes = [
        helper.make_node("TopK", ["x", "k"], ["v", "i"], axis=axis),
        helper.make_node("Shape", ["x"], ["all"], start=axis, end=axis + 1),
        helper.make_node("TopK", ["x", "all"], ["v_all", "i_all"], axis=axis, largest=0),
        helper.make_node("Div", ["all", "two"], ["half"]),
        helper.make_node("TopK", ["x", "half"], ["v_half", "i_half"], axis=axis),
        helper.make_node("Shape", ["z"], ["other"]),
        helper.make_node("TopK", ["x", "other"], ["v_other", "i_other"], axis=axis),
    ]
    outputs = [out for node in nodes if node.op_type == "TopK" for out in node.output]
    shape: list[object] = [3, 3]
    shape[axis] = "n"
    proto = model(
        nodes, [("x", T.FLOAT, shape), ("k", T.INT64, [1]), ("z", T.FLOAT, ["m"])],
        [(name, (T.FLOAT, T.INT64)[name[0] == "i"]) for name in outputs],
        [numpy_helper.from_array(ints(2), "two")],
    )  # fmt: skip

    def feed(n: int, k: int, m: int) -> dict[str, np.ndarray]:
        x = RNG.permutation(3 * n).reshape((n, 3) if axis == 0 else (3, n)).astype("float32")
        return {"x": x, "k": ints(k), "z": signs(m)}

    check(proto, tmp_path, feed(6, 2, 1), feed(3, 3, 3), feed(9, 0, 8), feed(1, 1, 1))
    run = runner(proto, tmp_path)
    with pytest.raises(ToolError, match="out of range"):
        run(feed(4, 5, 1))
    with pytest.raises(ToolError, match="are not equal"):
        run(feed(4, 1, 5))


@pytest.mark.slow
def test_topk_of_more_than_there_are_is_refused(tmp_path: Path) -> None:
    node = helper.make_node("TopK", ["x", "k"], ["v", "i"])
    proto = model(
        [node], [("x", T.FLOAT, [6]), ("k", T.INT64, [1])], [("v", T.FLOAT), ("i", T.INT64)]
    )
    run = runner(proto, tmp_path)
    for k in (7, -1, 2**40):
        with pytest.raises(ToolError, match="out of range"):
            run({"x": signs(6), "k": ints(k)})


@pytest.mark.slow
def test_slice(tmp_path: Path) -> None:
    node = helper.make_node("Slice", ["x", "s", "e"], ["y"])
    ports = [("x", T.FLOAT, ["n", 4]), ("s", T.INT64, [2]), ("e", T.INT64, [2])]
    limits = (
        ((1, 0), (4, 4)), ((-2, 1), (2**62, -1)), ((5, 0), (2, 4)), ((-(2**62), -9), (9, 9)),
        ((0, 3), (0, 4)),
    )  # fmt: skip
    feeds = ({"x": signs(6, 4), "s": ints(*s), "e": ints(*e)} for s, e in limits)
    check(model([node], ports, [("y", T.FLOAT)]), tmp_path, *feeds)


@pytest.mark.slow
def test_slice_with_steps(tmp_path: Path) -> None:
    steps = [numpy_helper.from_array(ints(1), "a"), numpy_helper.from_array(ints(3), "by")]
    node = helper.make_node("Slice", ["x", "s", "e", "a", "by"], ["y"])
    ports = [("x", T.FLOAT, [2, 11]), ("s", T.INT64, [1]), ("e", T.INT64, [1])]
    limits = ((0, 11), (1, 10), (4, 5), (7, 2), (-11, -1))
    feeds = ({"x": signs(2, 11), "s": ints(s), "e": ints(e)} for s, e in limits)
    check(model([node], ports, [("y", T.FLOAT)], steps), tmp_path, *feeds)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "shape", "targets"),
    [
        ("Expand", [1, 4], [(3, 4), (1, 1), (2, 1)]),
        ("Tile", [2, 4], [(3, 2), (1, 1), (0, 1)]),
        ("Reshape", [2, 6], [(3, 4), (0, -1), (-1, 1), (12, 1)]),
    ],
)
def test_targets(op: str, shape: list[int], targets: list[tuple[int, int]], tmp_path: Path) -> None:
    node = helper.make_node(op, ["x", "s"], ["y"])
    proto = model([node], [("x", T.FLOAT, shape), ("s", T.INT64, [2])], [("y", T.FLOAT)])
    check(proto, tmp_path, *({"x": signs(*shape), "s": ints(*t)} for t in targets))


@pytest.mark.slow
def test_targets_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    node = helper.make_node("Reshape", ["x", "s"], ["y"])
    proto = model([node], [("x", T.FLOAT, [2, 6]), ("s", T.INT64, [2])], [("y", T.FLOAT)])
    run = runner(proto, tmp_path)
    for target in ((5, 2), (-2, 6), (2**33, 1), (5, -1)):
        with pytest.raises(ToolError, match="out of range"):
            run({"x": signs(2, 6), "s": ints(*target)})


@pytest.mark.slow
def test_constant_of_shape(tmp_path: Path) -> None:
    node = helper.make_node("ConstantOfShape", ["s"], ["y"])
    proto = model([node], [("s", T.INT64, [2])], [("y", T.FLOAT)])
    check(proto, tmp_path, {"s": ints(3, 2)}, {"s": ints(0, 2)}, {"s": ints(1, 1)})


def boxes(count: int, center: int) -> np.ndarray:
    corner = RNG.uniform(0, 1, (1, count, 2)).astype("float32")
    size = RNG.uniform(0.2, 0.5, (1, count, 2)).astype("float32")
    return np.concatenate([corner, size if center else corner + size], axis=2)


@pytest.mark.slow
@pytest.mark.parametrize("center", [0, 1])
def test_non_max_suppression(center: int, tmp_path: Path) -> None:
    weights = [
        numpy_helper.from_array(ints(3), "most"),
        numpy_helper.from_array(np.float32([0.4]), "iou"),
        numpy_helper.from_array(np.float32([0.3]), "least"),
    ]
    node = helper.make_node(
        "NonMaxSuppression", ["b", "s", "most", "iou", "least"], ["y"], center_point_box=center
    )
    ports = [("b", T.FLOAT, [1, 8, 4]), ("s", T.FLOAT, [1, 2, 8])]
    proto = model([node], ports, [("y", T.INT64)], weights)
    many = [RNG.uniform(0, 1, (1, 2, 8)).astype("float32") for _ in range(4)]
    one = np.zeros((1, 2, 8), "float32")
    one[0, 1, 5] = 0.9
    scores = [*many, one, np.zeros((1, 2, 8), "float32"), np.ones((1, 2, 8), "float32")]
    check(proto, tmp_path, *({"b": boxes(8, center), "s": s} for s in scores))
