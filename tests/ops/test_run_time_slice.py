"""Slice by lists of which some are constants, some are computed at run time; of an open number.

All forms are nodes of one model, which is compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper, parser

from tests.ops.packages import RNG, Arrays, ints, model, runner, signs
from tvm_megcc import frontend
from tvm_megcc.errors import ToolError, UnsupportedError

FAR = 2**63 - 1
KNOWN = {"starts": (-2, 0), "ends": (-FAR, 2), "axes": (2, 0), "steps": (-1, 2)}
#: Lists that each Slice of the table is given: those in capital letters are inputs of the model.
FORMS = [
    ("starts", "ENDS", "", ""), ("STARTS", "ends", "", "steps"), ("starts", "ends", "", "STEPS"),
    ("STARTS", "ENDS", "axes", ""), ("starts", "ENDS", "axes", "steps"),
    ("STARTS", "ends", "axes", "STEPS"), ("starts", "ends", "AXES", ""),
    ("STARTS", "ENDS", "AXES", "steps"), ("STARTS", "ENDS", "AXES", "STEPS"),
]  # fmt: skip
LISTS = ["STARTS", "ENDS", "AXES", "STEPS"]
ROWS = [
    ((1, 0), (4, 2), (0, 2), (1, 1)),
    ((-1, -1), (-FAR, -FAR), (0, -1), (-1, -2)),
    ((FAR, 4), (-FAR - 1, 0), (1, 2), (-1, -3)),
    ((0, 9), (0, 9), (0, 1), (5, 1)),
    ((-4, 2), (-2, FAR), (-2, -1), (FAR, 3)),
]

#: As many as an input has elements, or as data says; each of them has as many as the others.
OPEN = """
    <ir_version: 9, opset_import: ["" : 18]>
    g (float[n, 3, 4] x, int64[k] s, int64[k] e, int64[k] a, int64[k] p, bool[k] c, bool[k] d)
        => (float z0, float z1, float z2, float z3, float z4)
    { z0 = Slice(x, s, e) z1 = Slice(x, s, e, a) z2 = Slice(x, s, e, , p)
      z3 = Slice(x, s, e, a, p)
      s4 = Compress <axis: int = 0> (s, c) e4 = Compress <axis: int = 0> (e, d)
      z4 = Slice(x, s4, e4) }"""
OPEN_ROWS = [
    ((1,), (4,), (0,), (1,), (1,), (1,)),
    ((-1, 1), (-FAR, 3), (0, 1), (-1, 2), (0, 1), (1, 0)),
    ((0, -2, 1), (FAR, FAR, 3), (0, 1, 2), (2, 1, 1), (1, 1, 0), (0, 1, 1)),
    ((), (), (), (), (), ()),
]

#: As torch exports EmbeddingBag: a Loop without a trip count, over slices of the offsets.
BAGS = """
    <ir_version: 9, opset_import: ["" : 18]>
    g (int64[m] i, int64[b] o) => (float[b, 4] y) {
      rows = Gather(w, i) last = Shape(i)
      stops = Concat <axis: int = 0> (o, last)
      bags = Size(o) more = Less(zero, bags) empty = SequenceEmpty()
      k, all = Loop("", more, zero, empty) <body = body (int64 round, bool going, k0, s0)
          => (more1, k2, s1) {
        at = Reshape(k0, minus) one1 = CastLike(one, at)
        next = Add(at, one1) after = Add(next, one1)
        start = Slice(stops, at, next) end = Slice(stops, next, after)
        none = Equal(start, end)
        row = If(none) <then_branch = then_branch () => (float[1, 4] z) {
            z = Identity(nothing) },
          else_branch = else_branch () => (m) {
            bag = Slice(rows, start, end) m = ReduceMean(bag, axis) }>
        s1 = SequenceInsert(s0, row)
        one2 = CastLike(one, k0) k2 = Add(k0, one2) more1 = Less(k2, bags) }>
      y = ConcatFromSequence <axis: int = 0> (all) }"""

Run = Callable[[Arrays], tuple[Arrays, Arrays]]


def whole() -> onnx.ModelProto:
    nodes = [helper.make_node("Slice", ["x", *form], [f"y{k}"]) for k, form in enumerate(FORMS)]
    ports = [("x", T.FLOAT, ["n", 3, 4]), *((name, T.INT64, [2]) for name in LISTS)]
    weights = [numpy_helper.from_array(ints(*v), name) for name, v in KNOWN.items()]
    proto = model(nodes, ports, [(f"y{k}", T.FLOAT) for k in range(len(FORMS))], weights, 18)
    known = {
        "w": RNG.integers(-8, 8, (9, 4)).astype("f4"), "zero": np.int64(0), "one": np.int64(1),
        "minus": ints(-1), "axis": ints(0), "nothing": np.zeros((1, 4), "f4"),
    }  # fmt: skip
    proto.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in known.items())
    for text in (OPEN, BAGS):
        part = parser.parse_model(text).graph
        proto.graph.node.extend(part.node)
        proto.graph.input.extend(port for port in part.input if port.name != "x")
        proto.graph.output.extend(onnx.ValueInfoProto(name=port.name) for port in part.output)
    return proto


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Outputs of the package, under the sanitizers, and of ONNX Runtime."""
    proto = whole()
    ours = runner(proto, tmp_path_factory.mktemp("slices"))
    session = ort.InferenceSession(onnx.shape_inference.infer_shapes(proto).SerializeToString())
    names = [port.name for port in session.get_outputs()]

    def both(feed: Arrays) -> tuple[Arrays, Arrays]:
        found = ours(feed)
        return found, dict(zip(names, session.run(None, feed), strict=True))

    return both


def feed_of(
    lists: Sequence[Sequence[int]] = ROWS[0],
    wide: Sequence[Sequence[int]] = OPEN_ROWS[0],
    bags: tuple[Sequence[int], Sequence[int]] = ((1, 2), (0,)),
    rows: int = 6,
) -> Arrays:
    kinds = ["i8"] * 4 + ["bool"] * 2
    opened = {k: np.array(v, t) for k, v, t in zip("seapcd", wide, kinds, strict=True)}
    fixed = {name: ints(*v) for name, v in zip(LISTS, lists, strict=True)}
    return {"x": signs(rows, 3, 4), **fixed, **opened, "i": ints(*bags[0]), "o": ints(*bags[1])}


def expect(run: Run, feed: Arrays) -> None:
    found, want = run(feed)
    for name, array in want.items():
        assert found[name].shape == array.shape, name
        np.testing.assert_array_equal(found[name], array, name)


@pytest.mark.slow
@pytest.mark.parametrize("lists", ROWS)
@pytest.mark.parametrize("rows", [6, 0])
def test_every_combination(run: Run, lists: Sequence[Sequence[int]], rows: int) -> None:
    """Negative, clamped, backwards, empty."""
    expect(run, feed_of(lists, rows=rows))


@pytest.mark.slow
@pytest.mark.parametrize("wide", OPEN_ROWS)
def test_lists_of_an_open_number(run: Run, wide: Sequence[Sequence[int]]) -> None:
    expect(run, feed_of(wide=wide))


@pytest.mark.parametrize(
    "wide",
    [
        ((0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 2, 3), (1, 1, 1, 1), (1,) * 4, (1,) * 4),
        ((0, 0), (1, 1), (0, 1), (1, 1), (1, 0), (1, 1)),
    ],
    ids=["more than dims", "not as many"],
)
def test_numbers_that_do_not_fit(run: Run, wide: Sequence[Sequence[int]]) -> None:
    with pytest.raises(ToolError, match="out of range|are not equal"):
        run(feed_of(wide=wide))


@pytest.mark.parametrize(
    "bags", [((1, 2, 4, 5), (0, 2)), ((8, 0, 3, 3), (0, 0, 1, 4, 4)), ((7,), (0,))]
)
def test_bags_of_an_embedding(run: Run, bags: tuple[Sequence[int], Sequence[int]]) -> None:
    expect(run, feed_of(bags=bags))


@pytest.mark.parametrize(
    ("slice_", "match"),
    [
        ("y = Slice(x, s, s, a)", "Slice 'y': dim 0 of operand 3 is 2"),
        ("t = Reshape(s, two) y = Slice(x, t, s)", "Slice 'y': its operand 1 has 2 dims, not one"),
    ],
)
def test_what_no_slice_is(slice_: str, match: str) -> None:
    proto = parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : 17]> g (float[n, 4] x, int64[1] s) => (float y)
        <int64[2] a = {{0, 1}}, int64[2] two = {{1, 1}}> {{ {slice_} }}""")
    with pytest.raises(UnsupportedError, match=match):
        frontend.from_onnx(proto)
