"""If, Loop and Scan, from ONNX to the running package: against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from tests.fast import machines
from tests.ops.packages import answers, ints, model
from tvm_megcc.errors import UnsupportedError
from tvm_megcc.frontend import from_onnx

F32 = np.float32
RNG = np.random.default_rng(1)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(F32)


def graph(name, nodes, inputs, outputs, weights=()):  # noqa: ANN001, ANN201
    ports = [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs]
    results = [helper.make_tensor_value_info(n, t, None) for n, t in outputs]
    return helper.make_graph(list(nodes), name, ports, results, list(weights))


def const(name: str, value: object, dtype: type = np.int64) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(value, dtype), name)


def flag(value: bool) -> np.ndarray:
    return np.array(value)


def check_close(
    proto: onnx.ModelProto, folder: Path, *feeds: dict[str, np.ndarray], arch: str = "host"
) -> None:
    """Every answer is ONNX Runtime's."""
    for found, want in answers(proto, folder, feeds, arch):
        if want.size == 0:  # of no iterations ONNX Runtime gives rows without elements
            assert found.size == 0
            continue
        assert found.shape == want.shape
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


# ---- If ----------------------------------------------------------------------------------------


def branch_model(then, other, x_shape=("n", 4), outputs=(("y", T.FLOAT),)):  # noqa: ANN001, ANN201
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("If", ["c"], [n for n, _ in outputs], then_branch=then, else_branch=other),
    ]
    return model(nodes, [("x", T.FLOAT, x_shape), ("c", T.BOOL, [])], outputs)


def test_if_of_one_shape(tmp_path: Path) -> None:
    then = graph("t", [helper.make_node("Exp", ["r"], ["a"])], [], [("a", T.FLOAT)])
    other = graph("e", [helper.make_node("Neg", ["r"], ["b"])], [], [("b", T.FLOAT)])
    feeds = [{"x": floats(n, 4), "c": flag(c)} for n in (1, 3, 0) for c in (True, False)]
    check_close(branch_model(then, other), tmp_path, *feeds)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3, "n"])
def test_if_of_two_shapes(tmp_path: Path, rows: int | str) -> None:
    twice = helper.make_node("Concat", ["r", "r", "x"], ["a"], axis=0)
    then = graph("t", [twice], [], [("a", T.FLOAT)])
    other = graph("e", [helper.make_node("Neg", ["r"], ["b"])], [], [("b", T.FLOAT)])
    proto = branch_model(then, other, (rows, 4))
    after = helper.make_node("ReduceSum", ["y"], ["s"], keepdims=0)
    proto.graph.node.append(after)
    proto.graph.output.append(helper.make_tensor_value_info("s", T.FLOAT, []))
    feeds = [
        {"x": ints(*range(4 * n)).reshape(n, 4).astype(F32) - 3, "c": flag(c)}
        for n in ((3,) if rows == 3 else (1, 5, 2))
        for c in (True, False, True)
    ]
    check_close(proto, tmp_path, *feeds)


@pytest.mark.slow
def test_if_whose_branch_reads_its_size(tmp_path: Path) -> None:
    """NonZero in one branch, a constant in the other."""
    found = helper.make_node("NonZero", ["r"], ["a"])
    then = graph("t", [found], [], [("a", T.INT64)])
    other = graph("e", [], [], [("b", T.INT64)], [const("b", [[1, 2], [3, 4]])])
    proto = branch_model(then, other, outputs=[("y", T.INT64)])
    check_close(proto, tmp_path, *({"x": floats(n, 4), "c": flag(c)}
                             for n in (1, 6) for c in (True, False)))  # fmt: skip


@pytest.mark.slow
def test_if_in_if(tmp_path: Path) -> None:
    inner_then = graph("it", [helper.make_node("Add", ["q", "x"], ["ia"])], [], [("ia", T.FLOAT)])
    inner_else = graph("ie", [helper.make_node("Identity", ["q"], ["ib"])], [], [("ib", T.FLOAT)])
    then = graph(
        "t",
        [
            helper.make_node("Exp", ["r"], ["q"]),
            helper.make_node("If", ["d"], ["a"], then_branch=inner_then, else_branch=inner_else),
        ],
        [],
        [("a", T.FLOAT)],
    )
    other = graph("e", [helper.make_node("Identity", ["x"], ["b"])], [], [("b", T.FLOAT)])
    proto = branch_model(then, other)
    proto.graph.input.append(helper.make_tensor_value_info("d", T.BOOL, [1]))
    check_close(proto, tmp_path, *({"x": floats(2, 4), "c": flag(c), "d": np.array([d])}
                             for c in (True, False) for d in (True, False)))  # fmt: skip


# ---- Loop --------------------------------------------------------------------------------------


def loop_model(body, inputs, outputs, trip="m", start="", states=("h0",), weights=()):  # noqa: ANN001, ANN201
    node = helper.make_node("Loop", [trip, start, *states], [n for n, _ in outputs], body=body)
    return model([node], inputs, outputs, weights)


def counting_body(state_shape):  # noqa: ANN001, ANN201
    """h += i; gives h by rows."""
    nodes = [
        helper.make_node("Identity", ["c"], ["c1"]),
        helper.make_node("Cast", ["i"], ["f"], to=T.FLOAT),
        helper.make_node("Add", ["h", "f"], ["h1"]),
        helper.make_node("Mul", ["h1", "h1"], ["y"]),
    ]
    return graph(
        "body", nodes, [("i", T.INT64, []), ("c", T.BOOL, []), ("h", T.FLOAT, state_shape)],
        [("c1", T.BOOL), ("h1", T.FLOAT), ("y", T.FLOAT)],
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, "n"])
@pytest.mark.parametrize("trip", [0, 1, 5])
def test_loop_of_known_count(tmp_path: Path, trip: int, n: int | str) -> None:
    proto = loop_model(
        counting_body([n, 3]), [("h0", T.FLOAT, [n, 3])], [("h", T.FLOAT), ("ys", T.FLOAT)],
        weights=[const("m", trip)],
    )  # fmt: skip
    check_close(proto, tmp_path, *({"h0": floats(k, 3)} for k in ([2] if n == 2 else [1, 4])))


@pytest.mark.parametrize("n", [2, "n"])
def test_loop_of_a_count_that_is_computed(tmp_path: Path, n: int | str) -> None:
    proto = loop_model(
        counting_body([n, 3]), [("h0", T.FLOAT, [n, 3]), ("m", T.INT64, [])],
        [("h", T.FLOAT), ("ys", T.FLOAT)],
    )  # fmt: skip
    check_close(proto, tmp_path, *({"h0": floats(2, 3), "m": np.array(k)} for k in (3, 0, 1, 7, 2)))


@pytest.mark.slow
def test_rows_whose_dims_follow_from_open_ones(tmp_path: Path) -> None:
    """No dim of a state says what they are: ``2 * n``, ``min(n, 1)``."""
    nodes = [
        helper.make_node("Tanh", ["h"], ["h1"]),
        helper.make_node("Concat", ["h1", "h"], ["both"], axis=0),
        helper.make_node("Slice", ["h1", "zero", "one", "zero"], ["first"]),
        helper.make_node("Identity", ["c"], ["c1"]),
    ]
    body = graph(
        "body", nodes, [("i", T.INT64, []), ("c", T.BOOL, []), ("h", T.FLOAT, ["n", 3])],
        [("c1", T.BOOL), ("h1", T.FLOAT), ("both", T.FLOAT), ("first", T.FLOAT)],
    )  # fmt: skip
    proto = loop_model(
        body, [("h0", T.FLOAT, ["n", 3]), ("m", T.INT64, [])],
        [("h", T.FLOAT), ("ys", T.FLOAT), ("zs", T.FLOAT)],
        weights=[const("zero", [0]), const("one", [1])],
    )  # fmt: skip
    check_close(proto, tmp_path, *({"h0": floats(n, 3), "m": np.array(m)}
                             for n, m in ((2, 3), (1, 0), (4, 1))))  # fmt: skip


@pytest.mark.slow
def test_loop_that_ends_by_its_condition(tmp_path: Path) -> None:
    """Doubles until the sum passes a limit; the rows are as many as there were iterations."""
    nodes = [
        helper.make_node("Add", ["h", "h"], ["h1"]),
        helper.make_node("ReduceSum", ["h1"], ["s"], keepdims=0),
        helper.make_node("Less", ["s", "most"], ["c1"]),
    ]
    body = graph(
        "body", nodes, [("i", T.INT64, []), ("c", T.BOOL, []), ("h", T.FLOAT, [3])],
        [("c1", T.BOOL), ("h1", T.FLOAT), ("h1", T.FLOAT)],
    )  # fmt: skip
    body.node.insert(1, helper.make_node("Identity", ["h1"], ["y"]))
    body.output[2].name = "y"
    proto = loop_model(
        body, [("h0", T.FLOAT, [3]), ("most", T.FLOAT, []), ("go", T.BOOL, [])],
        [("h", T.FLOAT), ("ys", T.FLOAT)], start="go", weights=[const("m", 20)],
    )  # fmt: skip
    check_close(proto, tmp_path, *(
        {"h0": np.array([1, 2, 3], F32), "most": np.array(most, F32), "go": flag(go)}
        for most in (1, 100, 1e9) for go in (True, False)
    ))  # fmt: skip


@pytest.mark.slow
def test_while_loop_without_a_limit(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Mul", ["h", "two"], ["h1"]),
        helper.make_node("Less", ["h1", "most"], ["c1"]),
    ]
    body = graph(
        "body", nodes, [("i", T.INT64, []), ("c", T.BOOL, []), ("h", T.FLOAT, [])],
        [("c1", T.BOOL), ("h1", T.FLOAT)],
    )  # fmt: skip
    proto = loop_model(
        body, [("h0", T.FLOAT, []), ("most", T.FLOAT, [])], [("h", T.FLOAT)], trip="",
        weights=[const("two", 2, F32)],
    )  # fmt: skip
    check_close(proto, tmp_path, *({"h0": np.array(1, F32), "most": np.array(m, F32)}
                             for m in (0, 1000)))  # fmt: skip


#: The comparison of a counter `i` (`after` has grown by 2, `before` not yet) with `limit`.
COUNTED = {
    "less": [("Less", ["after", "limit"], "c1", {})],
    "less_before": [("Less", ["before", "limit"], "c1", {})],
    "less_or_equal": [("LessOrEqual", ["after", "limit"], "c1", {})],
    "greater": [("Greater", ["limit", "after"], "c1", {})],
    "greater_or_equal_before": [("GreaterOrEqual", ["limit", "before"], "c1", {})],
    "floats": [
        ("Cast", ["after"], "a", {"to": T.FLOAT}), ("Cast", ["limit"], "b", {"to": T.FLOAT}),
        ("Less", ["a", "b"], "c0", {}), ("Identity", ["c0"], "c1", {}),
    ],
    "and": [
        ("Less", ["after", "limit"], "a", {}), ("Less", ["h1", "most"], "b", {}),
        ("And", ["b", "a"], "c1", {}),
    ],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "limit"),
    [
        *((form, "open") for form in COUNTED),
        *(("less", kind) for kind in ("known", "input", "state")),
    ],
)
def test_while_loop_with_a_counter_gives_rows(tmp_path: Path, form: str, limit: str) -> None:
    """What tf2onnx writes: no trip count, and as many rows as the condition lets through."""
    states = ["i0", "h0", *(["limit0"] if limit == "state" else [])]
    nodes = [
        helper.make_node("Add", ["before", "two"], ["after"]),
        helper.make_node("Add", ["h", "one"], ["h1"]),
        *(helper.make_node(op, given, [made], **attrs) for op, given, made, attrs in COUNTED[form]),
        helper.make_node("Neg", ["h1"], ["y"]),
    ]
    ports = [("i", T.INT64, []), ("c", T.BOOL, []), ("before", T.INT32, []), ("h", T.FLOAT, [])]
    made = [("c1", T.BOOL), ("after", T.INT32), ("h1", T.FLOAT)]
    if limit == "state":
        ports, made = [*ports, ("limit", T.INT32, [])], [*made, ("limit", T.INT32)]
    body = graph("body", nodes, ports, [*made, ("y", T.FLOAT)])
    outputs = [("i_end", T.INT32), ("h_end", T.FLOAT), ("limit_end", T.INT32), ("ys", T.FLOAT)]
    if limit != "state":
        del outputs[2]
    loop = helper.make_node("Loop", ["", "go", *states], [n for n, _ in outputs], body=body)
    before = {
        "known": [],
        "input": [helper.make_node("Identity", ["m"], ["limit"])],
        "open": [
            helper.make_node("Shape", ["x"], ["size"]),
            helper.make_node("Squeeze", ["size"], ["size0"]),
            helper.make_node("Cast", ["size0"], ["limit"], to=T.INT32),
        ],
        "state": [helper.make_node("Identity", ["m"], ["limit0"])],
    }[limit]
    inputs = [("x", T.FLOAT, ["n"]), ("m", T.INT32, []), ("go", T.BOOL, []), ("most", T.FLOAT, [])]
    weights = [
        const("two", 2, np.int32),
        const("i0", 1, np.int32),
        const("one", 1, F32),
        const("h0", 0, F32),
    ]
    weights += [const("limit", 8, np.int32)] if limit == "known" else []
    proto = model([*before, loop], inputs, outputs, weights)
    check_close(proto, tmp_path, *(
        {"x": floats(n), "m": np.array(n, np.int32), "go": flag(go), "most": np.array(most, F32)}
        for n, go, most in ((8, True, 9), (7, True, 2), (1, True, 9), (5, False, 9), (0, True, 9))
    ))  # fmt: skip


#: The least and the largest integer of a counter.
ENDS = (-(1 << 63), (1 << 63) - 1)


@pytest.mark.slow
@pytest.mark.parametrize("known", [None, *ENDS])
def test_while_loop_with_a_limit_at_the_ends_of_its_type(tmp_path: Path, known: int | None) -> None:
    """So ``while True`` is written; another condition ends it."""
    loops, weights, outputs = [], [const("four", 4), const("yes", True, np.bool_)], []
    for first in (0, -3, ENDS[0], ENDS[1] - 30):
        for step in (1, 3):
            for op, compared in (("Less", "after"), ("LessOrEqual", "before")):
                name = f"n{len(loops)}"
                nodes = [
                    helper.make_node("Add", ["before", f"{name}_step"], ["after"]),
                    helper.make_node(op, [compared, "limit"], ["below"]),
                    helper.make_node("Less", ["i", "four"], ["goes_on"]),
                    helper.make_node("And", ["below", "goes_on"], ["c1"]),
                ]
                body = graph(
                    "body", nodes, [("i", T.INT64, []), ("c", T.BOOL, []), ("before", T.INT64, [])],
                    [("c1", T.BOOL), ("after", T.INT64)],
                )  # fmt: skip
                given = ["", "yes", f"{name}_first"]
                loops.append(helper.make_node("Loop", given, [name], body=body))
                weights += [const(f"{name}_first", first), const(f"{name}_step", step)]
                outputs.append((name, T.INT64))
    limits = [*ENDS, ENDS[0] + 2, ENDS[1] - 1, 0, 5]
    if known is not None:
        weights.append(const("limit", known))
        limits = [0]
    inputs = [("x", T.INT64, [])] if known is not None else [("limit", T.INT64, [])]
    proto = model(loops, inputs, outputs, weights)
    for found, want in answers(proto, tmp_path, ({inputs[0][0]: np.array(m)} for m in limits)):
        np.testing.assert_array_equal(found, want)


@pytest.mark.slow
def test_last_row_of_a_while_loop(tmp_path: Path) -> None:
    """A part of the rows' memory, at an offset that only the run shows."""
    nodes = [
        helper.make_node("Add", ["i0", "one"], ["i1"]),
        helper.make_node("Less", ["i1", "n"], ["c1"]),
        helper.make_node("Sin", ["h"], ["h1"]),
        helper.make_node("Neg", ["h1"], ["y"]),
    ]
    body = graph(
        "body", nodes,
        [("i", T.INT64, []), ("c", T.BOOL, []), ("i0", T.INT64, []), ("h", T.FLOAT, [1, "k"])],
        [("c1", T.BOOL), ("i1", T.INT64), ("h1", T.FLOAT), ("y", T.FLOAT)],
    )  # fmt: skip
    proto = model(
        [
            helper.make_node("Loop", ["", "yes", "zero", "x"], ["i_end", "h_end", "ys"], body=body),
            helper.make_node("Gather", ["ys", "last"], ["row"], axis=0),
            helper.make_node("Exp", ["row"], ["y_end"]),
        ],
        [("x", T.FLOAT, [1, "k"]), ("n", T.INT64, [])], [("y_end", T.FLOAT)],
        [const("zero", 0), const("one", 1), const("last", -1), const("yes", True, np.bool_)],
    )  # fmt: skip
    check_close(proto, tmp_path, *({"x": floats(1, k), "n": np.array(n)}
                             for k, n in ((3, 4), (5, 1), (2, 9))))  # fmt: skip


def _overwriting(*weights: onnx.TensorProto) -> onnx.ModelProto:
    """The state is a scalar 0 at first, then what the first iteration writes: exp(x) * i."""
    nodes = [
        helper.make_node("Cast", ["i"], ["f"], to=T.FLOAT),
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("Mul", ["e", "f"], ["h1"]),
        helper.make_node("ReduceMax", ["h1"], ["top"], keepdims=0),
        helper.make_node("Less", ["top", "most"], ["c1"]),
        helper.make_node("Add", ["h1", "one"], ["y"]),
    ]
    body = graph(
        "body", nodes, [("i", T.INT64, []), ("c", T.BOOL, []), ("h", T.FLOAT, [])],
        [("c1", T.BOOL), ("h1", T.FLOAT), ("y", T.FLOAT)],
    )  # fmt: skip
    inputs = [("x", T.FLOAT, ["n", 3]), ("most", T.FLOAT, [])]
    inputs += [] if weights else [("m", T.INT64, [])]
    constants = [const("zero", 0, F32), const("one", 1, F32), *weights]
    outputs = [("h", T.FLOAT), ("ys", T.FLOAT)]
    return loop_model(body, inputs, outputs, states=("zero",), weights=constants)


@pytest.mark.slow
def test_loop_whose_state_gets_its_rank_by_the_first_iteration(tmp_path: Path) -> None:
    """What Paddle writes of a variable that only the loop assigns."""
    check_close(_overwriting(const("m", 6)), tmp_path, *(
        {"x": np.abs(floats(n, 3)), "most": np.array(most, F32)}
        for n, most in ((2, 1e9), (4, 0), (1, -1), (3, 4))
    ))  # fmt: skip


def test_loop_that_may_not_run_keeps_the_rank_of_its_state() -> None:
    with pytest.raises(UnsupportedError, match="state 0 has 0 dims before an iteration, 2 after"):
        from_onnx(_overwriting())


@pytest.mark.slow
def test_if_of_a_scalar_and_one_element(tmp_path: Path) -> None:
    """One branch adds a [0] of one dim to what both say is a scalar."""
    three = helper.make_node("Constant", [], ["a"], value=const("", 3.0, F32))
    then = graph("t", [three], [], [("a", T.FLOAT)])
    added = helper.make_node("Add", ["first", "none"], ["b"])
    other = graph("e", [added], [], [("b", T.FLOAT)])
    for part in (then, other):
        part.output[0].type.tensor_type.shape.SetInParent()
    proto = model(
        [
            helper.make_node("ReduceMax", ["x"], ["first"], keepdims=0),
            helper.make_node("If", ["c"], ["r"], then_branch=then, else_branch=other),
            helper.make_node("Mul", ["x", "r"], ["y"]),
        ],
        [("x", T.FLOAT, ["n", 4]), ("c", T.BOOL, [])], [("y", T.FLOAT)], [const("none", [0], F32)],
    )  # fmt: skip
    check_close(proto, tmp_path, *({"x": floats(2, 4), "c": flag(c)} for c in (True, False)))


@pytest.mark.parametrize("step", [0, -1])
def test_while_loop_whose_counter_does_not_grow_is_refused(tmp_path: Path, step: int) -> None:
    nodes = [
        helper.make_node("Add", ["before", "step"], ["after"]),
        helper.make_node("Less", ["after", "limit"], ["c1"]),
        helper.make_node("Neg", ["after"], ["y"]),
    ]
    body = graph(
        "body", nodes, [("i", T.INT64, []), ("c", T.BOOL, []), ("before", T.INT32, [])],
        [("c1", T.BOOL), ("after", T.INT32), ("y", T.INT32)],
    )  # fmt: skip
    proto = loop_model(
        body, [("h0", T.INT32, []), ("limit", T.INT32, [])], [("h", T.INT32), ("ys", T.INT32)],
        trip="", weights=[const("step", step, np.int32)],
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match="nothing limits their number; give the Loop a trip"):
        from_onnx(proto)


@pytest.mark.slow
@pytest.mark.parametrize("start", [0, 2, "n"])
def test_loop_whose_state_grows(tmp_path: Path, start: int | str) -> None:
    """What a decoder does: each iteration appends a row."""
    nodes = [
        helper.make_node("Identity", ["c"], ["c1"]),
        helper.make_node("Concat", ["h", "row"], ["h1"], axis=0),
        helper.make_node("ReduceSum", ["h1"], ["y"], keepdims=0),
    ]
    body = graph(
        "body", nodes, [("i", T.INT64, []), ("c", T.BOOL, []), ("h", T.FLOAT, ["k", 2])],
        [("c1", T.BOOL), ("h1", T.FLOAT), ("y", T.FLOAT)],
    )  # fmt: skip
    inputs = [("m", T.INT64, []), ("row", T.FLOAT, [1, 2])]
    weights = []
    if start == 0:
        weights = [numpy_helper.from_array(np.zeros((0, 2), F32), "h0")]
    else:
        inputs.append(("h0", T.FLOAT, [start, 2]))
    proto = loop_model(body, inputs, [("h", T.FLOAT), ("ys", T.FLOAT)], weights=weights)
    feeds = []
    for k in (3, 0, 6, 1):
        feed = {"m": np.array(k), "row": ints(2, 3).reshape(1, 2).astype(F32)}
        if start != 0:
            feed["h0"] = ints(*range(4)).reshape(2, 2).astype(F32)
        feeds.append(feed)
    check_close(proto, tmp_path, *feeds)


@pytest.mark.slow
def test_loop_that_swaps_its_states(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Identity", ["c"], ["c1"]),
        helper.make_node("Identity", ["b"], ["a1"]),
        helper.make_node("Add", ["a", "b"], ["b1"]),
    ]
    body = graph(
        "body", nodes,
        [("i", T.INT64, []), ("c", T.BOOL, []), ("a", T.FLOAT, [2]), ("b", T.FLOAT, [2])],
        [("c1", T.BOOL), ("a1", T.FLOAT), ("b1", T.FLOAT)],
    )  # fmt: skip
    proto = loop_model(
        body, [("m", T.INT64, []), ("a0", T.FLOAT, [2]), ("b0", T.FLOAT, [2])],
        [("a2", T.FLOAT), ("b2", T.FLOAT)], states=("a0", "b0"),
    )  # fmt: skip
    check_close(proto, tmp_path, *({"m": np.array(k), "a0": np.array([0, 1], F32),
                              "b0": np.array([1, 5], F32)} for k in (0, 1, 2, 9)))  # fmt: skip


@pytest.mark.slow
def test_loop_that_joins_a_state_which_has_its_next_value_first(tmp_path: Path) -> None:
    """``b`` becomes ``(a, exp(b[:2]))`` of this iteration's ``a``."""
    nodes = [
        helper.make_node("Identity", ["c"], ["c1"]),
        helper.make_node("Add", ["a", "one"], ["a1"]),
        helper.make_node("Slice", ["b", "begin", "end"], ["head"]),
        helper.make_node("Exp", ["head"], ["e"]),
        helper.make_node("Concat", ["a", "e"], ["b1"], axis=0),
    ]
    body = graph(
        "body", nodes,
        [("i", T.INT64, []), ("c", T.BOOL, []), ("a", T.FLOAT, [2]), ("b", T.FLOAT, [4])],
        [("c1", T.BOOL), ("a1", T.FLOAT), ("b1", T.FLOAT)],
        [const("one", 1.5, F32), const("begin", [0]), const("end", [2])],
    )  # fmt: skip
    loop = helper.make_node("Loop", ["m", "", "a0", "b0"], ["a2", "b2"], body=body)
    proto = model(
        [loop, helper.make_node("ReduceSum", ["a2"], ["sum"], keepdims=0)],
        [("m", T.INT64, []), ("a0", T.FLOAT, [2]), ("b0", T.FLOAT, [4])],
        [("sum", T.FLOAT), ("b2", T.FLOAT)],
    )
    check_close(proto, tmp_path, *({"m": np.array(k), "a0": np.array([0, 1], F32),
                              "b0": np.array([1, 0, 2, 5], F32)} for k in (0, 1, 2)))  # fmt: skip


@pytest.mark.slow
def test_loop_in_loop_with_if(tmp_path: Path) -> None:
    """The inner loop's count is the outer one's number; the If takes turns."""
    inner = graph(
        "inner",
        [
            helper.make_node("Identity", ["ic"], ["ic1"]),
            helper.make_node("Add", ["g", "x"], ["g1"]),
        ],
        [("j", T.INT64, []), ("ic", T.BOOL, []), ("g", T.FLOAT, ["n", 2])],
        [("ic1", T.BOOL), ("g1", T.FLOAT)],
    )
    then = graph("t", [helper.make_node("Neg", ["g2"], ["t1"])], [], [("t1", T.FLOAT)])
    other = graph("e", [helper.make_node("Exp", ["x"], ["e1"])], [], [("e1", T.FLOAT)])
    nodes = [
        helper.make_node("Identity", ["c"], ["c1"]),
        helper.make_node("Loop", ["i", "", "h"], ["g2"], body=inner),
        helper.make_node("Mod", ["i", "two"], ["odd"]),
        helper.make_node("Cast", ["odd"], ["is_odd"], to=T.BOOL),
        helper.make_node("If", ["is_odd"], ["h1"], then_branch=then, else_branch=other),
        helper.make_node("ReduceSum", ["g2"], ["y"], keepdims=0),
    ]
    body = graph(
        "body", nodes, [("i", T.INT64, []), ("c", T.BOOL, []), ("h", T.FLOAT, ["n", 2])],
        [("c1", T.BOOL), ("h1", T.FLOAT), ("y", T.FLOAT)],
    )  # fmt: skip
    proto = loop_model(
        body, [("m", T.INT64, []), ("x", T.FLOAT, ["n", 2])], [("h", T.FLOAT), ("ys", T.FLOAT)],
        states=("x",), weights=[const("two", 2)],
    )  # fmt: skip
    check_close(proto, tmp_path, *({"m": np.array(k), "x": floats(n, 2) / 8}
                                   for k, n in ((4, 2), (1, 1), (0, 3), (5, 3))))  # fmt: skip


# ---- Scan --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("steps", [4, "t"])
@pytest.mark.parametrize("backwards", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_scan(tmp_path: Path, steps: int | str, backwards: int, axis: int) -> None:
    """A recurrence over rows, from either end, over either axis."""
    nodes = [
        helper.make_node("Add", ["h", "x"], ["s"]),
        helper.make_node("Tanh", ["s"], ["h1"]),
        helper.make_node("Identity", ["h1"], ["y"]),
    ]
    body = graph(
        "body", nodes, [("h", T.FLOAT, [3]), ("x", T.FLOAT, [3])],
        [("h1", T.FLOAT), ("y", T.FLOAT)],
    )  # fmt: skip
    scan = helper.make_node(
        "Scan", ["h0", "xs"], ["h2", "ys"], body=body, num_scan_inputs=1,
        scan_input_directions=[backwards], scan_output_directions=[backwards],
        scan_input_axes=[axis], scan_output_axes=[axis],
    )  # fmt: skip
    shape = [steps, 3] if axis == 0 else [3, steps]
    proto = model(
        [scan], [("h0", T.FLOAT, [3]), ("xs", T.FLOAT, shape)], [("h2", T.FLOAT), ("ys", T.FLOAT)]
    )
    sizes = [4] if steps == 4 else [4, 1, 9]
    check_close(proto, tmp_path, *(
        {"h0": floats(3), "xs": floats(k, 3) if axis == 0 else floats(3, k)} for k in sizes
    ))  # fmt: skip


# ---- every architecture ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("rows", [8, "r"])
@pytest.mark.parametrize("arch", machines("host", "arm64", "armv7"))
def test_convolutions_in_a_loop_and_a_branch(tmp_path: Path, arch: str, rows: int | str) -> None:
    """Kernels with packed weights and layouts of their own, in functions that are called."""
    weight = numpy_helper.from_array(floats(4, 4, 3, 3) / 6, "w")
    nodes = [
        helper.make_node("Identity", ["c"], ["c1"]),
        helper.make_node("Conv", ["h", "w"], ["q"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["q"], ["h1"]),
        helper.make_node("GlobalAveragePool", ["h1"], ["y"]),
    ]
    body = graph(
        "body", nodes,
        [("i", T.INT64, []), ("c", T.BOOL, []), ("h", T.FLOAT, [1, 4, rows, 8])],
        [("c1", T.BOOL), ("h1", T.FLOAT), ("y", T.FLOAT)],
    )  # fmt: skip
    proto = loop_model(
        body, [("m", T.INT64, []), ("x", T.FLOAT, [1, 4, rows, 8]), ("k", T.BOOL, [])],
        [("h", T.FLOAT), ("ys", T.FLOAT)], states=("x",), weights=[weight],
    )  # fmt: skip
    conv = helper.make_node("Conv", ["h", "w"], ["t1"], pads=[1, 1, 1, 1])
    pool = helper.make_node("MaxPool", ["h"], ["e1"], kernel_shape=[2, 2], strides=[2, 2])
    then = graph("t", [conv], [], [("t1", T.FLOAT)])
    other = graph("e", [pool], [], [("e1", T.FLOAT)])
    proto.graph.node.append(
        helper.make_node("If", ["k"], ["z"], then_branch=then, else_branch=other)
    )
    proto.graph.output.append(helper.make_tensor_value_info("z", T.FLOAT, None))
    feeds = [
        {"m": np.array(m), "x": floats(1, 4, 8 if rows == 8 else r, 8), "k": flag(k)}
        for m, r, k in ((3, 6, True), (2, 9, False))
    ]
    check_close(proto, tmp_path, *feeds, arch=arch)
