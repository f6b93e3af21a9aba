"""Sequences and optionals inside a model and at its ports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from tests.frontend.running import check, run
from tests.ops.packages import runner
from tvm_megcc import backend
from tvm_megcc.errors import InputError, MegccError, ToolError, UnsupportedError
from tvm_megcc.frontend import from_onnx

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def model(body: str, ports: str = "float[2, 3] x", outputs: str = "float[M, N] y"):
    return parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 17]> agraph ({ports}) => ({outputs}) {{ {body} }}'
    )


THREE = "a = Neg (x) b = Abs (x) s = SequenceConstruct (x, a, b) "


@pytest.mark.parametrize(
    "body",
    [
        THREE + "y = ConcatFromSequence <axis = 0> (s)",
        THREE + "y3 = ConcatFromSequence <axis = -1, new_axis = 1> (s) y = Flatten <axis = 1> (y3)",
        THREE + "p = Constant <value_int = -1> () y = SequenceAt (s, p)",
        THREE + "p = Constant <value_int = -1> () t = SequenceInsert (s, a, p)"
        " y = ConcatFromSequence <axis = 0> (t)",
        THREE + "p = Constant <value_int = 0> () t = SequenceErase (s, p)"
        " y = ConcatFromSequence <axis = 1> (t)",
        THREE + "t = SequenceErase (s) n = SequenceLength (t) f = Cast <to = 1> (n) y = Add (x, f)",
        "s = SplitToSequence <axis = 1> (x) y = ConcatFromSequence <axis = 0> (s)",
        "two = Constant <value_int = 2> () s = SplitToSequence <axis = 1> (x, two)"
        " y = ConcatFromSequence <axis = 1> (s)",
        "o = Optional (x) h = OptionalHasElement (o) y = If (h) <"
        "then_branch = yes () => (t) { t = OptionalGetElement (o) },"
        "else_branch = no () => (e) { e = Neg (x) }>",
    ],
)
def test_what_is_known_leaves_tensors(body: str) -> None:
    check(model(body), {"x": X})


#: Elements of one shape, at positions that the run says.
PLACES = model(
    THREE + "at = SequenceAt (s, p) t = SequenceInsert (s, x, p)"
    " inserted = ConcatFromSequence <axis = 0> (t)"
    " u = SequenceErase (s, p) erased = ConcatFromSequence <axis = 0> (u)",
    "float[2, 3] x, int64 p",
    "float[2, 3] at, float[8, 3] inserted, float[4, 3] erased",
)


@pytest.mark.slow
def test_positions_that_are_computed(tmp_path: Path) -> None:
    found = runner(PLACES, tmp_path)
    for place in range(-3, 3):
        elements = [X, -X, abs(X)]
        got = found({"x": X, "p": np.array(place)})
        np.testing.assert_array_equal(got["at"], elements[place])
        inserted = elements[:]
        inserted.insert(place, X)
        np.testing.assert_array_equal(got["inserted"], np.concatenate(inserted))
        del elements[place]
        np.testing.assert_array_equal(got["erased"], np.concatenate(elements))
    for place in (-4, 3):
        with pytest.raises(ToolError, match="run: error"):
            found({"x": X, "p": np.array(place)})


@pytest.mark.slow
def test_positions_among_elements_of_several_shapes(tmp_path: Path) -> None:
    body = (
        "zero = Constant <value_int = 0> () one = Constant <value_int = 1> () b = Flatten (x)"
        " c = Transpose (x) d = Concat <axis = 0> (x, x) s = SequenceConstruct (b, c, d)"
        " at = SequenceAt (s, p) t = SequenceInsert (s, x, p) second = SequenceAt (t, one)"
        " u = SequenceErase (s, p) first = SequenceAt (u, zero)"
    )
    ports = "float[A, B] at, float[C, D] second, float[E, F] first"
    found = runner(model(body, "float[2, 3] x, int64 p", ports), tmp_path)
    elements = [X, X.T, np.concatenate([X, X])]
    for place in range(-3, 3):
        got = found({"x": X, "p": np.array(place)})
        np.testing.assert_array_equal(got["at"], elements[place])
        inserted, erased = elements[:], elements[:]
        inserted.insert(place, X)
        del erased[place]
        np.testing.assert_array_equal(got["second"], inserted[1])
        np.testing.assert_array_equal(got["first"], erased[0])


BRANCHES = model(
    "s = If (c) <then_branch = yes () => (t) { a = Neg (x) t = SequenceConstruct (x, a) },"
    " else_branch = no () => (e) { b = Abs (x) e = SequenceConstruct (b, x) }>"
    " y = ConcatFromSequence <axis = 0> (s)",
    "float[2, 3] x, bool c",
)


@pytest.mark.parametrize("flag", [False, True])
def test_branches_give_sequences(flag: bool) -> None:
    (y,) = run(from_onnx(BRANCHES), {"x": -X, "c": np.array(flag)})
    np.testing.assert_array_equal(y, np.concatenate([-X, X] if flag else [X, -X]))


def looping(count: str, step: str) -> onnx.ModelProto:
    """A loop whose state is a sequence."""
    return model(
        f"yes = Constant <value = bool {{1}}> () s = SequenceConstruct (x, x) {count}"
        f" t = Loop (n, yes, s) <body = step (int64 i, bool c, seq(float[2, 3]) u)"
        f" => (bool d, seq(float[2, 3]) v) {{ d = Identity (c) {step} }}>"
        " y = ConcatFromSequence <axis = 0> (t)",
        "float[2, 3] x" if count else "float[2, 3] x, int64 n",
    )


THRICE = "n = Constant <value_int = 3> ()"
GROWS = "f = Cast <to = 1> (i) w = Add (x, f) v = SequenceInsert (u, w)"
TURNS = (
    "zero = Constant <value_int = 0> () one = Constant <value_int = 1> () a = SequenceAt (u, zero)"
    " b = SequenceAt (u, one) w = Add (a, b) v = SequenceConstruct (b, w)"
)


def test_sequences_that_grow_in_loops() -> None:
    (y,) = run(from_onnx(looping(THRICE, GROWS)), {"x": X})
    np.testing.assert_array_equal(y, np.concatenate([X, X, X, X + 1, X + 2]))


def test_sequences_that_keep_their_length_in_loops() -> None:
    imported = from_onnx(looping("", TURNS))
    for count in (0, 1, 4):
        (y,) = run(imported, {"x": X, "n": np.array(count)})
        a, b = X, X
        for _ in range(count):
            a, b = b, a + b
        np.testing.assert_array_equal(y, np.concatenate([a, b]))


#: Whose iterations only the run counts: what is appended, and how the elements are joined.
ROWS = """<ir_version: 10, opset_import: ["" : 17]>
    agraph (float[2, 3] x, int64 n)
        => (float[A, 3] y, float[2, B, 3] z, int64 length, float[2, 3] w) {
        yes = Constant <value = bool {1}> ()
        s = SequenceConstruct (x)
        w, t = Loop (n, yes, x, s) <body = step (int64 i, bool c, float[2, 3] a, seq(float[2, 3]) u)
            => (bool d, float[2, 3] b, seq(float[2, 3]) v) {
                d = Identity (c)
                b = Add (a, a)
                v = SequenceInsert (u, b)
            }>
        y = ConcatFromSequence <axis = 0> (t)
        z = ConcatFromSequence <axis = 1, new_axis = 1> (t)
        length = SequenceLength (t)
    }"""


@pytest.mark.slow
def test_sequences_that_grow_as_long_as_the_run_says() -> None:
    imported = from_onnx(parser.parse_model(ROWS))
    for count in (0, 1, 3):
        elements = [X * 2**k for k in range(count + 1)]
        y, z, length, w = run(imported, {"x": X, "n": np.array(count)})
        np.testing.assert_array_equal(y, np.concatenate(elements))
        np.testing.assert_array_equal(z, np.stack(elements, 1))
        np.testing.assert_array_equal(w, elements[-1])
        assert length == count + 1


def test_rows_beside_a_first_tensor_of_other_dims() -> None:
    text = ROWS.replace("SequenceConstruct (x)", "SequenceConstruct (first)")
    text = text.replace("float[2, 3] x,", "float[1, 3] first, float[2, 3] x,")
    cut = text.index("z = ConcatFromSequence")
    text = text[:cut] + text[text.index("length =") :]
    imported = from_onnx(parser.parse_model(text.replace("float[2, B, 3] z, ", "")))
    for count in (0, 2):
        y, *_ = run(imported, {"first": X[:1], "x": X, "n": np.array(count)})
        np.testing.assert_array_equal(y, np.concatenate([X[:1], X * 2, X * 4][: count + 1]))


@pytest.mark.slow
def test_nothing_to_join() -> None:
    text = ROWS.replace("SequenceConstruct (x)", "SequenceEmpty ()")
    prepared = backend.prepare(parser.parse_model(text))
    y, *_ = prepared.run([X, np.array(1)])
    np.testing.assert_array_equal(y, X * 2)
    with pytest.raises(MegccError, match="out of range"):
        prepared.run([X, np.array(0)])


PORTS = parser.parse_model(
    '<ir_version: 10, opset_import: ["" : 17]> agraph (seq(float[N, 3]) s, float[2, 3] x)'
    " => (seq(float[N, 3]) t, float[M, 3] y)"
    "{ t = SequenceInsert (s, x) y = ConcatFromSequence <axis = 0> (t) }"
)


def test_sequences_at_ports() -> None:
    prepared = backend.prepare(PORTS, input_shapes={"s[0]": (1, 3), "s[1]": None})
    for rows in (1, 4):
        elements = [np.ones((1, 3), np.float32), np.full((rows, 3), 2, np.float32)]
        t, y = prepared.run([elements, X])
        assert [len(e) for e in t] == [1, rows, 2]
        np.testing.assert_array_equal(y, np.concatenate([*elements, X]))
    with pytest.raises(InputError, match="sequence of 2"):
        prepared.run([[X], X])


def test_ports_have_names_of_elements() -> None:
    imported = from_onnx(PORTS, {"s[0]": None, "s[1]": None})
    assert [port.name for port in imported.inputs] == ["s[0]", "s[1]", "x"]
    assert [port.name for port in imported.outputs] == ["t[0]", "t[1]", "t[2]", "y"]


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["SequenceAt (s, zero)", "ConcatFromSequence <axis = 0> (s)"])
def test_a_branch_that_needs_elements_where_there_are_none(tmp_path: Path, wrong: str) -> None:
    text = f"""s = SequenceEmpty () zero = Constant <value_int = 0> () y = If (c) <
        then_branch = yes () => (float[2, 3] a) {{ a = Neg (x) }},
        else_branch = no () => (float[2, 3] b) {{ b = {wrong} }}>"""
    with pytest.warns(UserWarning, match="takes its else branch ends with an error"):
        run = runner(model(text, "float[2, 3] x, bool c", "float[2, 3] y"), tmp_path)
    np.testing.assert_array_equal(run({"x": X, "c": np.array(True)})["y"], -X)
    with pytest.raises(ToolError, match="out of range"):
        run({"x": X, "c": np.array(False)})


@pytest.mark.parametrize(
    ("proto", "words"),
    [
        (PORTS, "'s' is a sequence and its length is not known"),
        (
            looping("", GROWS.replace("v =", "g =") + " v = SequenceInsert (g, w)"),
            "is a sequence of 2 before an iteration and a sequence of 4 after it",
        ),
        (model(THREE + "y = Neg (s)"), "'s' is a sequence; Neg takes tensors"),
        (model("s = SequenceEmpty () y = ConcatFromSequence <axis = 0> (s)"), "without elements"),
        (model("o = Optional <type = float[2, 3]> () y = OptionalGetElement (o)"), "has none"),
        (
            model(THREE + "p = Constant <value_int = 3> () y = SequenceAt (s, p)"),
            "position 3 in a sequence of 3",
        ),
        (
            model("s = SplitToSequence (x, p) y = ConcatFromSequence <axis = 0> (s)",
                  "float[2, 3] x, int64 p"),
            "how many pieces it makes is known only at run time",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(proto: onnx.ModelProto, words: str) -> None:
    with pytest.raises(MegccError, match=words) as raised:
        from_onnx(proto)
    assert isinstance(raised.value, InputError | UnsupportedError)
