"""Slice by lists of which some are constants, some are computed at run time; of an open number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper, parser

from tests.ops.packages import RNG, check, ints, model, runner, signs
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
ROWS = [
    ((1, 0), (4, 2), (0, 2), (1, 1)),
    ((-1, -1), (-FAR, -FAR), (0, -1), (-1, -2)),
    ((FAR, 4), (-FAR - 1, 0), (1, 2), (-1, -3)),
    ((0, 9), (0, 9), (0, 1), (5, 1)),
    ((-4, 2), (-2, FAR), (-2, -1), (FAR, 3)),
]


def test_every_combination(tmp_path: Path) -> None:
    """All forms in one model: negative, clamped, backwards, empty."""
    nodes = [helper.make_node("Slice", ["x", *form], [f"y{k}"]) for k, form in enumerate(FORMS)]
    lists = ["STARTS", "ENDS", "AXES", "STEPS"]
    ports = [("x", T.INT16, ["n", 3, 4]), *((name, T.INT64, [2]) for name in lists)]
    weights = [numpy_helper.from_array(ints(*v), name) for name, v in KNOWN.items()]
    proto = model(nodes, ports, [(f"y{k}", T.INT16) for k in range(len(FORMS))], weights)
    x = RNG.integers(-99, 99, (6, 3, 4)).astype(np.int16)
    feeds = [dict(zip(["x", *lists], [x, *(ints(*v) for v in r)], strict=True)) for r in ROWS]
    check(proto, tmp_path, *feeds, {**feeds[0], "x": x[:0]})


@pytest.mark.slow
def test_lists_of_an_open_number(tmp_path: Path) -> None:
    """As many as an input has elements, or as data says; each of them has as many as the others."""
    proto = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[n, 3, 4] x, int64[k] s, int64[k] e, int64[k] a, int64[k] p, bool[k] c, bool[k] d)
            => (float y, float y1, float y2, float y3, float z)
        { y = Slice(x, s, e) y1 = Slice(x, s, e, a) y2 = Slice(x, s, e, , p)
          y3 = Slice(x, s, e, a, p)
          s4 = Compress <axis: int = 0> (s, c) e4 = Compress <axis: int = 0> (e, d)
          z = Slice(x, s4, e4) }""")
    rows = [
        ((1,), (4,), (0,), (1,), (1,), (1,)),
        ((-1, 1), (-FAR, 3), (0, 1), (-1, 2), (0, 1), (1, 0)),
        ((0, -2, 1), (FAR, FAR, 3), (0, 1, 2), (2, 1, 1), (1, 1, 0), (0, 1, 1)),
        ((), (), (), (), (), ()),
    ]

    def feed(*lists: tuple[int, ...]) -> dict[str, np.ndarray]:
        kinds = ["i8"] * 4 + ["bool"] * 2
        made = {k: np.array(v, t) for k, v, t in zip("seapcd", lists, kinds, strict=True)}
        return {"x": x, **made}

    x = signs(5, 3, 4)
    check(proto, tmp_path, *(feed(*row) for row in rows))
    run = runner(proto, tmp_path)
    for lists, why in [
        (((0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 2, 3), (1, 1, 1, 1), (1,) * 4, (1,) * 4), "range"),
        (((0, 0), (1, 1), (0, 1), (1, 1), (1, 0), (1, 1)), "are not equal|range"),
    ]:
        with pytest.raises(ToolError, match=why):
            run(feed(*lists))


BAGS = """
    <ir_version: 8, opset_import: ["" : 18]>
    g (int64[n] i, int64[b] o) => (float[b, 4] y) {
      rows = Gather(w, i) last = Shape(i) ends = Concat <axis: int = 0> (o, last)
      bags = Size(o) more = Less(zero, bags) empty = SequenceEmpty()
      k, all = Loop("", more, zero, empty) <body = body (int64 round, bool going, k0, s0)
          => (more1, k2, s1) {
        at = Reshape(k0, minus) one1 = CastLike(one, at)
        next = Add(at, one1) after = Add(next, one1)
        start = Slice(ends, at, next) end = Slice(ends, next, after)
        none = Equal(start, end)
        row = If(none) <then_branch = then_branch () => (float[1, 4] z) {
            z = Identity(nothing) },
          else_branch = else_branch () => (m) {
            bag = Slice(rows, start, end) m = ReduceMean(bag, axis) }>
        s1 = SequenceInsert(s0, row)
        one2 = CastLike(one, k0) k2 = Add(k0, one2) more1 = Less(k2, bags) }>
      y = ConcatFromSequence <axis: int = 0> (all) }"""


@pytest.mark.slow
def test_bags_of_an_embedding(tmp_path: Path) -> None:
    """As torch exports EmbeddingBag: a Loop without a trip count, over slices of the offsets."""
    proto = parser.parse_model(BAGS)
    known = {
        "w": RNG.integers(-8, 8, (9, 4)).astype("f4"), "zero": np.int64(0), "one": np.int64(1),
        "minus": ints(-1), "axis": ints(0), "nothing": np.zeros((1, 4), "f4"),
    }  # fmt: skip
    proto.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in known.items())
    feeds = [
        {"i": ints(*i), "o": ints(*o)}
        for i, o in [((1, 2, 4, 5), (0, 2)), ((8, 0, 3, 3), (0, 0, 1, 4, 4)), ((7,), (0,))]
    ]
    check(proto, tmp_path, *feeds)


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
