"""Two open dims that meet in broadcasting are equal, or one of them is 1, as only the run shows.

ONNX Runtime says what is right. That sizes which do not go together end in a status is seen to by
`test_contracts` for each operator.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper, parser
from tvm import tirx

from tests.ops.contracts import TYPES, floats
from tests.ops.packages import Arrays, runner
from tvm_megcc import dims
from tvm_megcc.errors import ToolError
from tvm_megcc.relax_tools.shape_exprs import prim_of, size_of

Dims = tuple[int | str, ...]
#: An operand: dims of f32, dims with a type, or the model's own array.
Operand = Dims | tuple[str, Dims] | np.ndarray
Sizes = dict[str, int]
Dict = dict[str, tuple[int, list[Any]]]

X, Y = ("a", 3), ("b", 3)
#: Sizes of dims that meet: equal, one of them 1, none at all.
MEETING = [{"a": 2, "b": 2}, {"a": 1, "b": 4}, {"a": 4, "b": 1}, {"a": 1, "b": 1},
           {"a": 0, "b": 1}, {"a": 1, "b": 0}, {"a": 0, "b": 0}]  # fmt: skip
APART = [{"a": 2, "b": 4}, {"a": 0, "b": 3}]

#: ONNX Runtime does not broadcast to empty batches of matrices.
MATRICES = [("some_a", 2, 3), ("some_b", 3, 4)]
SCALES = [np.array(0.3, "float32"), np.array(3, "uint8")]
U8_X, U8_Y = [("uint8", X), *SCALES], [("uint8", Y), *SCALES]
#: Operators of two operands or more, with attributes.
ROWS: list[tuple[str, list[Operand], dict[str, Any]]] = [
    *((op, [X, Y], {}) for op in (
        "Add", "Sub", "Mul", "Div", "Pow", "Equal", "Less", "LessOrEqual", "Greater",
        "GreaterOrEqual")),
    *((op, [X, Y, X], {}) for op in ("Max", "Min", "Sum", "Mean")),
    *((op, [("bool", X), ("bool", Y)], {}) for op in ("And", "Or", "Xor")),
    *((op, [("int32", X), ("int32", Y)], {}) for op in (
        "BitwiseAnd", "BitwiseOr", "BitwiseXor")),
    ("BitShift", [("uint8", X), ("uint8", Y)], {"direction": "LEFT"}),
    ("Mod", [X, Y], {"fmod": 1}),
    ("Where", [("bool", X), Y, (3,)], {}),
    ("Where", [("bool", (2, "a")), (2, "b"), (2, 1)], {}),
    ("Add", [(3, "a"), (3, "b")], {}),
    ("Add", [("a", "b"), ("b", "a")], {}),
    ("Add", [(2, "a", 3), ("b", 1)], {}),
    ("MatMul", MATRICES, {}),
    ("MatMul", [(2, "some_a", 2, 3), MATRICES[1]], {}),
    ("MatMulInteger", [("uint8", shape) for shape in MATRICES], {}),
    ("QLinearAdd", [*U8_X, *U8_Y, *SCALES], {"domain": "com.microsoft"}),
    ("QLinearMul", [*U8_X, *U8_Y, *SCALES], {"domain": "com.microsoft"}),
    ("QLinearWhere", [("bool", X), *U8_Y, *U8_X, *SCALES], {"domain": "com.microsoft"}),
]  # fmt: skip


class Graph:
    """A model whose inputs are told apart by their types and dims, and how it is run."""

    def __init__(self) -> None:
        self.ports: dict[str, tuple[str, Dims]] = {}
        self.weights: dict[str, np.ndarray] = {}
        self.nodes: list[onnx.NodeProto] = []
        self.outputs: list[str] = []

    def operand(self, found: Operand) -> str:
        if isinstance(found, np.ndarray):
            name = f"w_{found.dtype}_{'_'.join(map(str, found.shape))}_{found.sum():.3g}"
            self.weights[name] = found
            return name
        typed = len(found) == 2 and isinstance(found[1], tuple)
        dtype, shape = found if typed else ("float32", found)
        name = "_".join(map(str, [dtype, *shape]))
        self.ports[name] = dtype, shape
        return name

    def node(self, op: str, inputs: Sequence[str], output: str = "", **attrs: Any) -> str:
        name = output or f"z{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name, **attrs))
        return name

    def runner(self, folder: Path) -> Callable[[Sizes], tuple[Arrays, Arrays]]:
        """What answers sizes of the open dims: our outputs, and those of ONNX Runtime."""
        ports = [helper.make_tensor_value_info(n, TYPES[t], d) for n, (t, d) in self.ports.items()]
        results = [onnx.ValueInfoProto(name=name) for name in self.outputs]
        weights = [numpy_helper.from_array(w, n) for n, w in self.weights.items()]
        graph = helper.make_graph(self.nodes, "g", ports, results, weights)
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        session = ort.InferenceSession(model.SerializeToString())
        run = runner(model, folder)

        def answer(sizes: Sizes) -> tuple[Arrays, Arrays]:
            rng = np.random.default_rng(7)
            feed = {
                name: rng.uniform(0.5, 3, [sizes.get(d, d) for d in shape]).astype(dtype)
                for name, (dtype, shape) in self.ports.items()
            }
            found = run(feed)
            return found, dict(zip(self.outputs, session.run(self.outputs, feed), strict=True))

        return answer


def check(answer: Callable[[Sizes], tuple[Arrays, Arrays]], sizes: Sizes) -> None:
    found, wanted = answer(sizes)
    for name, want in wanted.items():
        assert found[name].shape == want.shape, (name, sizes)
        np.testing.assert_allclose(found[name], want, rtol=1e-5, err_msg=f"{name} {sizes}")


def test_what_two_dims_become() -> None:
    n, m, many = dims.symbol("n"), dims.symbol("m"), dims.symbol("many", 2, 9)
    met = dims.stretch(n, m)
    rows = itertools.product((0, 1, 3), repeat=2)
    assert all(dims.at(met, {"n": a, "m": b}) == (b if a == 1 else a) for a, b in rows)
    assert dims.stretch(n, 1) == n and dims.stretch(1, n) == n and dims.stretch(n, n) == n
    assert dims.stretch(many, n) == many and dims.stretch(4, n) == 4
    assert dims.bounds(dims.stretch(n, many)) == (0, dims.INFINITY)
    assert met * 3 // 3 == met and dims.stretched_from(met) == (n, m)
    assert dims.json_at(dims.to_json(met + 1), {"n": 1, "m": 6}) == 7
    variables = {name: tirx.Var(name, "int64") for name in "nm"}
    assert size_of(prim_of(met * 2 + 1, variables), {}) == met * 2 + 1


@pytest.mark.slow
def test_dims_that_meet(tmp_path: Path) -> None:
    graph = Graph()
    for op, operands, attrs in ROWS:
        graph.outputs.append(graph.node(op, [graph.operand(o) for o in operands], **attrs))
    answer = graph.runner(tmp_path)
    some = {"some_a": 4, "some_b": 1}
    for sizes in MEETING:
        check(answer, {**sizes, **some})
        some = {"some_a": some["some_b"], "some_b": some["some_a"]}
    for sizes in APART:
        with pytest.raises(ToolError, match=r"'Add__z0'.* not equal"):
            answer({**sizes, **some})


def in_branches_and_loops(graph: Graph, x: str, y: str) -> list[str]:
    """Results of an If and of a Loop in whose bodies two operands from outside meet."""

    def body(nodes: Sequence[onnx.NodeProto], inputs: Dict, outputs: Dict) -> onnx.GraphProto:
        rows = [[helper.make_tensor_value_info(n, t, d) for n, (t, d) in ports.items()]
                for ports in (inputs, outputs)]  # fmt: skip
        return helper.make_graph(nodes, "body", *rows)

    make = helper.make_node
    result = (T.FLOAT, ["rows", 3])
    then = body([make("Add", [x, y], ["then"], "then")], {}, {"then": result})
    other = body([make("Mul", [y, x], ["other"], "other")], {}, {"other": result})
    total = graph.node("ReduceSum", [x], keepdims=0)
    above = graph.node("Greater", [total, graph.operand(np.array(2, "float32"))])
    chosen = graph.node("If", [above], then_branch=then, else_branch=other)
    turn = body(
        [
            make("Sub", [x, y], ["apart"], "apart"),
            make("ReduceSum", ["apart"], ["sum"], keepdims=0),
            make("Add", ["state", "sum"], ["next"]),
            make("Identity", ["go"], ["on"]),
        ],
        {"turn": (T.INT64, []), "go": (T.BOOL, []), "state": (T.FLOAT, [])},
        {"on": (T.BOOL, []), "next": (T.FLOAT, [])},
    )
    trips = graph.operand(np.array(3, np.int64))
    looped = graph.node("Loop", [trips, "", total], body=turn)
    return [graph.node("Add", [chosen, y], "after If"), looped]


def places(graph: Graph) -> str:
    """Where an input is not 0: as many places as it has elements."""
    found = graph.node("NonZero", [graph.operand(("a",))])
    return graph.node("Cast", [found], to=T.FLOAT)


@pytest.mark.slow
def test_what_follows_dims_that_met(tmp_path: Path) -> None:
    """What is computed of a result whose dim is known at run time only, and meets again."""
    graph = Graph()
    x, y, w = (graph.operand(o) for o in (X, Y, floats(3, 5)))
    met = graph.node("Add", [x, y], "met")
    axes, shape = (graph.operand(np.array(v, np.int64)) for v in ([0], [-1, 1]))
    graph.outputs = [
        graph.node("Mul", [graph.node("Sub", [met, x]), y], "again"),
        graph.node("Mul", [graph.node("Add", [y, x]), met], "the other way round"),
        graph.node("MatMul", [met, w], "product"),
        graph.node("Concat", [met, graph.node("Mul", [x, y])], "beside", axis=1),
        graph.node("Concat", [met, x], "below", axis=0),
        graph.node("Reshape", [met, shape], "flat"),
        graph.node("Transpose", [met], "turned", perm=[1, 0]),
        graph.node("ReduceSum", [met, axes], "total", keepdims=0),
        graph.node("Softmax", [graph.node("Transpose", [met], perm=[1, 0])], "soft", axis=-1),
        graph.node("Shape", [met], "shape"),
        graph.node("Sum", [x, graph.operand(("c", 3)), y], "of three"),
        *in_branches_and_loops(graph, x, y),
        graph.node("Sub", [places(graph), graph.operand((1, "b"))], "of data"),
    ]
    answer = graph.runner(tmp_path)
    for sizes in MEETING:
        check(answer, {**sizes, "c": 1})
    for c in (1, 4):
        check(answer, {"a": 4, "b": 1, "c": c})
        check(answer, {"a": 1, "b": 1, "c": c})
    for sizes in ({"a": 4, "b": 1, "c": 2}, {"a": 1, "b": 3, "c": 4}):
        with pytest.raises(ToolError, match=r"'Sum__of_three'.* not equal"):
            answer(sizes)


#: One operand has the result's dims: only the other one is stretched. Sizes that are taken, and
#: that are not.
ONE_WAY: dict[str, tuple[str, list[Operand], dict[str, Any], list[Sizes], list[Sizes]]] = {
    "gemm": ("Gemm", [("m", 3), floats(3, 4), ("p", 4)], {},
             [{"m": 2, "p": 2}, {"m": 2, "p": 1}, {"m": 1, "p": 1}],
             [{"m": 1, "p": 2}, {"m": 2, "p": 3}]),
    "gemm_columns": ("Gemm", [(2, 3), (3, "n"), ("q",)], {},
                     [{"n": 4, "q": 4}, {"n": 4, "q": 1}, {"n": 1, "q": 1}],
                     [{"n": 1, "q": 4}, {"n": 4, "q": 3}]),
    "constant": ("Mul", [("r", 3), floats(4, 3)], {}, [{"r": 4}, {"r": 1}], [{"r": 2}, {"r": 0}]),
    "constant_inner": ("Add", [(2, "s"), floats(5)], {}, [{"s": 5}, {"s": 1}], [{"s": 2}]),
    "prelu": ("PRelu", [(1, "t", 2, 2), floats(3, 1, 1)], {}, [{"t": 3}], [{"t": 1}, {"t": 2}]),
}  # fmt: skip


def test_one_operand_is_stretched(tmp_path: Path) -> None:
    graph = Graph()
    for name, (op, operands, attrs, _, _) in ONE_WAY.items():
        graph.outputs.append(graph.node(op, [graph.operand(o) for o in operands], name, **attrs))
    answer = graph.runner(tmp_path)
    usual = {k: v for *_, good, _ in ONE_WAY.values() for k, v in good[0].items()}
    for turn in range(3):  # one after another of each, together
        check(answer, {k: v for *_, good, _ in ONE_WAY.values()
                       for k, v in good[min(turn, len(good) - 1)].items()})  # fmt: skip
    for name, (*_, bad) in ONE_WAY.items():
        for sizes in bad:
            with pytest.raises(ToolError, match=rf"__{name}'.* not equal"):
                answer({**usual, **sizes})


def test_a_quotient_meets_another_dim(tmp_path: Path) -> None:
    """What a division by an open size may be has no end, below either: `s*t//r` and `u`."""
    graph = Graph()
    rest = graph.operand(np.array([-1], np.int64))
    rows = graph.node("Shape", [graph.operand(("r",))])
    shape = graph.node("Concat", [rows, rest], axis=0)
    table = graph.node("Reshape", [graph.operand(("s", "t")), shape])
    graph.outputs = [graph.node("Add", [table, graph.operand(("u",))])]
    answer = graph.runner(tmp_path)
    for sizes in ({"u": 6}, {"u": 1}, {"r": 12, "u": 5}):
        check(answer, {"r": 2, "s": 3, "t": 4, **sizes})
    with pytest.raises(ToolError, match="not equal"):
        answer({"r": 2, "s": 3, "t": 4, "u": 5})


@pytest.mark.slow
@pytest.mark.parametrize("other", ["Identity(y)", "Add(x, y)"])
def test_a_row_meets_several(other: str, tmp_path: Path) -> None:
    """One row of an open tensor, or none, is never as many as two: it is stretched, never equal."""
    proto = parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[n, 3] x, float[m, 3] y, float[2, 3] z) => (float[2, 3] t, float[k, 3] s)
        <int64[1] zero = {{0}}, int64[1] one = {{1}}> {{
            row = Slice(x, zero, one, zero) t = Mul(row, z) s = {other}
        }}""")
    run, session = runner(proto, tmp_path), ort.InferenceSession(proto.SerializeToString())
    for n, m in ((4, 4), (4, 1), (1, 4), (1, 1)):
        rng = np.random.default_rng(n + 7 * m)
        feed = {k: rng.random((d, 3), "float32") for k, d in (("x", n), ("y", m), ("z", 2))}
        found = run(feed)
        for port, want in zip(session.get_outputs(), session.run(None, feed), strict=True):
            np.testing.assert_array_equal(found[port.name], want)
    with pytest.raises(ToolError, match="'Mul__t'.* not equal"):
        run({**feed, "x": np.zeros((0, 3), "float32")})


@pytest.mark.slow
@pytest.mark.parametrize(("start", "end"), [(-1, 2**31 - 1), (-2, -1), (0, 1)])
def test_all_rows_meet_one_of_them(start: int, end: int, tmp_path: Path) -> None:
    """The last row, which is none where there is none: dims of one symbol that are not equal."""
    proto = parser.parse_model(f"""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[2, n, 3] x) => (float[2, k, 3] y)
        <int64[1] start = {{{start}}}, int64[1] end = {{{end}}}, int64[1] axis = {{1}}> {{
            row = Slice(x, start, end, axis) y = Sub(x, row)
        }}""")
    run, session = runner(proto, tmp_path), ort.InferenceSession(proto.SerializeToString())
    for n in (4, 2, 7):
        x = np.random.default_rng(n).random((2, n, 3), "float32")
        (want,) = session.run(None, {"x": x})
        np.testing.assert_array_equal(run({"x": x})["y"], want)
