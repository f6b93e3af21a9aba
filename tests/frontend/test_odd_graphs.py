"""Graphs whose nodes are given what they do not take: each is one sentence that names the node."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

from tests.frontend.running import make_model
from tvm_megcc.errors import MegccError
from tvm_megcc.frontend import from_onnx

F32 = np.float32


def text(body: str, ports: str = "float[2, 3] x", function: str = "") -> onnx.ModelProto:
    """A model whose results are ``y``, or ``y`` and ``z``."""
    names = ["y", "z"][: 1 + ("y, z =" in body)]
    outputs = ", ".join(f"float[{n}_rows] {n}" for n in names)
    head = '<ir_version: 10, opset_import: ["" : 18, "local" : 1]>'
    if function:
        function = f'<domain: "local", opset_import: ["" : 18]> {function}'
    proto = parser.parse_model(f"{head} agraph ({ports}) => ({outputs}) {{ {body} }} {function}")
    for port in proto.graph.output:
        port.ClearField("type")
    return proto


S = "s = SequenceConstruct (x, x) "
P = "float[2, 3] x, int64 p"
KEPT = "<body = b (int64 i, bool c, float[2, 3] v) => (bool d, float[2, 3] w)"
LOOP = f"{KEPT} {{ d = Identity (c) w = Neg (v) }}>"
BRANCHES = "<then_branch = t () => (a) { a = Neg (x) }, else_branch = e () => (b) { b = Abs (x) }>"
ROWS = "<num_scan_inputs = 1, body = b (float[3] v, float[3] r) => (float[3] w, float[3] q)"
SCAN = f"{ROWS} {{ w = Add (v, r) q = Neg (r) }}>"
POOL = "f <window> (a) => (b) { b = MaxPool <kernel_shape : ints = @window> (a) }"

#: What is wrong -> the model's nodes, its inputs, and words of the sentence.
SEQUENCES = {
    "split_of_a_number": ("s = SplitToSequence (x) y = SequenceLength (s)", "float x", ["axis 0"]),
    "split_axis": ("s = SplitToSequence <axis = 5> (x) y = SequenceLength (s)", "", ["axis 5"]),
    "split_into_many": (
        "s = SplitToSequence (x) y = SequenceLength (s)",
        "float[1073741824] x",
        ["SplitToSequence 's'", "1073741824 tensors"],
    ),
    "split_into_many_by_one": (
        "k = Constant <value_int = 1> () s = SplitToSequence (x, k) y = SequenceLength (s)",
        "float[1073741824] x",
        ["SplitToSequence 's'", "1073741824 tensors"],
    ),
    "split_by_a_float": (
        "k = Constant <value_float = 2.5> () s = SplitToSequence (x, k) y = SequenceLength (s)",
        "",
        ["SplitToSequence 's'", "float", "int64"],
    ),
    "at_a_sequence": (S + "y = SequenceAt (s, s)", "", ["SequenceAt 'y'", "'s' is a sequence"]),
    "at_of_none": ("s = SequenceEmpty () y = SequenceAt (s, p)", P, ["'y'", "without elements"]),
    "erase_of_none": (
        "s = SequenceEmpty () t = SequenceErase (s, p) y = SequenceLength (t)",
        P,
        ["SequenceErase 't'", "without elements"],
    ),
    "at_several": (
        S + "y = SequenceAt (s, p)",
        "float[2, 3] x, int64[2] p",
        ["SequenceAt 'y'", "2 elements"],
    ),
    "at_several_known": (
        S + "k = Constant <value_ints = [0, 1]> () y = SequenceAt (s, k)",
        "",
        ["SequenceAt 'y'", "2 elements"],
    ),
    "at_a_float": (
        S + "k = Constant <value_float = 1.5> () y = SequenceAt (s, k)",
        "",
        ["SequenceAt 'y'", "float", "int64"],
    ),
    "sequence_of_sequences": (S + "y = SequenceConstruct (s, s)", "", ["'y'", "is a sequence"]),
    "sequence_into_sequence": (
        S + "t = SequenceInsert (s, s) y = SequenceLength (t)",
        "",
        ["SequenceInsert 't'", "is a sequence"],
    ),
    "joined_axis": (
        S + "y = ConcatFromSequence <axis = 7, new_axis = 1> (s)",
        "",
        ["ConcatFromSequence 'y'", "axis 7"],
    ),
    "map_inputs": (
        S + "t = SequenceMap (s) <body = b (float[2, 3] v, float[2, 3] u) => (w) { w = Neg (v) }>"
        " y = SequenceLength (t)",
        "",
        ["SequenceMap 't'", "2 inputs"],
    ),
    "map_outputs": (
        S + "t, u = SequenceMap (s) <body = b (float[2, 3] v) => (w) { w = Neg (v) }>"
        " y = SequenceLength (u)",
        "",
        ["SequenceMap 't'", "1 outputs"],
    ),
    "map_to_sequences": (
        S + "t = SequenceMap (s) <body = b (float[2, 3] v) => (w) { w = SequenceConstruct (v) }>"
        " y = SequenceLength (t)",
        "",
        ["SequenceMap 't'", "gives a sequence"],
    ),
    "if_of_a_sequence": (S + f"y = If (s) {BRANCHES}", "", ["If 'y'", "no tensor"]),
    "loop_of_a_sequence": (S + f"y = Loop (s, , x) {LOOP}", "", ["Loop 'y'", "no tensor"]),
    "scan_from_a_sequence": (S + f"y, z = Scan (s, x) {SCAN}", "", ["Scan 'y'", "no tensor"]),
    "scan_of_a_sequence": (
        S + f"y, z = Scan (k, s) {SCAN}",
        "float[2, 3] x, float[3] k",
        ["Scan 'y'", "no tensor"],
    ),
    "sequence_of_any_length_into_a_branch": (
        "s = SequenceEmpty () t = Loop (p, , s)"
        " <body = b (int64 i, bool c, seq(float[2, 3]) v) => (bool d, seq(float[2, 3]) w)"
        " { d = Identity (c) f = Cast <to = 1> (i) g = Add (f, x) w = SequenceInsert (v, g) }>"
        " y = If (q) <then_branch = t () => (a) { a = Identity (t) },"
        " else_branch = e () => (b) { b = Identity (t) }>",
        P + ", bool q",
        ["If 'y'", "ConcatFromSequence"],
    ),
}

CONTROL = {
    "branches_of_two_types": (
        "y = If (c) <then_branch = t () => (a) { a = Cast <to = 7> (x) },"
        " else_branch = e () => (b) { b = Abs (x) }>",
        "float[2, 3] x, bool c",
        ["If 'y'", "int64 in one branch", "float32"],
    ),
    **{
        f"condition_{name}": (f"y = If (c) {BRANCHES}", f"float[2, 3] x, bool[{count}] c",
                              ["If 'y'", f"condition has {count} elements"])
        for name, count in (("of_none", 0), ("of_several", 2))
    },
    "condition_of_several_known": (
        f"k = Constant <value_floats = [0.0, 1.0]> () c = Less (k, k) y = If (c) {BRANCHES}",
        "",
        ["If 'y'", "condition has 2 elements"],
    ),
    "trip_count_of_several": (
        f"y = Loop (n, , x) {LOOP}",
        "float[2, 3] x, int64[2] n",
        ["Loop 'y'", "trip count has 2 elements"],
    ),
    "trip_count_of_several_known": (
        f"k = Constant <value_ints = [3, 4]> () y = Loop (k, , x) {LOOP}",
        "",
        ["Loop 'y'", "trip count has 2 elements"],
    ),
    "state_of_two_types": (
        f"y = Loop (p, , x) {KEPT} {{ d = Identity (c) w = Cast <to = 7> (v) }}>",
        P,
        ["Loop 'y'", "state 0 is float32 before", "int64 after"],
    ),
    "goes_on_by_a_float": (
        f"y = Loop (p, , x) {KEPT} {{ d = ReduceSum <keepdims = 0> (v) w = Neg (v) }}>",
        P,
        ["Loop 'y'", "condition is float32"],
    ),
    "goes_on_by_several": (
        f"y = Loop (p, , x) {KEPT} {{ e = Gather <axis = 1> (v, i) d = Less (e, e) w = Neg (v) }}>",
        P,
        ["Loop 'y'", "condition has 2 elements"],
    ),
}  # fmt: skip

SIZES = {
    "sizes_of_two_lengths": (
        "s = Shape (x) k = Constant <value_ints = [1, 2]> () t = Add (s, k) y = Cast <to = 1> (t)",
        "float[N, M, 3] x",
        ["Add 't'", "2", "3"],
    ),
    "no_such_axis_of_sizes": (
        "s = Shape (x) k = Constant <value_ints = [5]> () t = ReduceSum <keepdims = 0> (s, k)"
        " y = Cast <to = 1> (t)",
        "float[N, M, 3] x",
        ["ReduceSum 't'", "axis 5"],
    ),
    "no_axis_of_a_size": (
        "s = Size (x) k = Constant <value_ints = [0]> () t = ReduceSum (s, k)"
        " y = Cast <to = 1> (t)",
        "float[N, M, 3] x",
        ["ReduceSum 't'", "axis 0"],
    ),
}


@pytest.mark.parametrize("case", [*SEQUENCES, *CONTROL, *SIZES])
def test_what_a_node_does_not_take_is_said(case: str) -> None:
    body, ports, words = {**SEQUENCES, **CONTROL, **SIZES}[case]
    refused(text(body, ports or "float[2, 3] x"), words)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("scan_input_axes", [0]),
        ("scan_input_axes", [0, 0, 0]),
        ("scan_input_directions", [1]),
        ("scan_input_directions", [2, 0]),
        ("scan_output_axes", [0, 0]),
        ("scan_output_directions", [0, 1]),
        ("scan_output_directions", [-1]),
    ],
)
def test_a_scan_says_how_it_counts_each_tensor(name: str, numbers: list[int]) -> None:
    proto = text(
        "y, z = Scan <num_scan_inputs = 2, body = b (float[3] v, float[3] r, float[3] r2)"
        " => (float[3] w, float[3] q) { w = Add (v, r) q = Add (r, r2) }> (k, x, x)",
        "float[2, 3] x, float[3] k",
    )
    proto.graph.node[0].attribute.append(helper.make_attribute(name, numbers))
    refused(proto, ["Scan 'y'", name, str(numbers)])


def test_a_scan_gives_its_states() -> None:
    body = "y = Scan <num_scan_inputs = 1, body = b (v, u, r) => (w) { w = Add (v, r) }> (k, k, x)"
    refused(text(body, "float[2, 3] x, float[3] k"), ["Scan 'y'", "1 outputs", "2"])


def test_what_a_body_is_given_is_no_weight() -> None:
    proto = text(f"y = Loop (p, , x) {LOOP}", P)
    body = proto.graph.node[0].attribute[0].g
    body.initializer.append(numpy_helper.from_array(np.ones((2, 3), F32), "v"))
    refused(proto, ["graph 'b'", "'v'"])


@pytest.mark.parametrize(
    ("call", "function", "words"),
    [
        ("y, z = local.f (x)", "f (a) => (b) { b = Neg (a) }", ["f 'y'", "2 outputs"]),
        ("y = local.f (x, x)", "f (a) => (b) { b = Neg (a) }", ["f 'y'", "2 inputs"]),
        ("y = local.f <window = [0, 0]> (x)", POOL, ["'y/MaxPool'", "kernel_shape=[0, 0]"]),
        ("y = local.f <window = [1, 4294967297]> (x)", POOL, ["'y/MaxPool'", "4294967297"]),
        ("y = local.f (x)", POOL, ["'y/MaxPool'", "'kernel_shape' is missing"]),
    ],
)
def test_functions_are_called_as_they_are(call: str, function: str, words: list[str]) -> None:
    refused(text(call, "float[1, 4, 2, 2] x", function), words)


@pytest.mark.parametrize("op", ["Shape <start = 1>", "Softmax <axis = 1>"])
def test_attributes_of_functions_stand_in_functions(op: str) -> None:
    proto = text(f"t = {op} (x) y = Cast <to = 1> (t)")
    proto.graph.node[0].attribute[0].ref_attr_name = "given"
    refused(proto, [" 't'", "of a function"])


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        ("Pad", ["w", "words"]),
        ("GatherElements", ["w", "words"]),
        ("Slice", ["w", "zero", "zero", "zero", "complex"]),
        ("Slice", ["w", "zero", "zero", "real", "back"]),
    ],
)
def test_constants_of_other_types_than_numbers(op: str, operands: list[str]) -> None:
    known = {
        "w": np.ones((2, 3), F32),
        "words": np.array([b"a", b"b", b"c", b"d"], object),
        "zero": np.zeros(1, np.int64),
        "complex": np.ones(1, np.complex64),
        "real": np.zeros(1, F32),
        "back": np.array([-1]),
    }
    made = helper.make_node(op, operands, ["t"], name="odd")
    used = {name: known[name] for name in operands}
    proto = make_model([helper.make_node("Add", ["x", "t"], ["y"])], {"x": ("float32", [3])}, ["y"])
    proto.graph.node.insert(0, made)
    proto.graph.initializer.extend(numpy_helper.from_array(a, n) for n, a in used.items())
    refused(proto, [f"{op} 'odd'"])


def refused(proto: onnx.ModelProto, words: list[str]) -> None:
    with pytest.raises(MegccError) as caught:
        from_onnx(proto)
    message = str(caught.value)
    assert all(word in message for word in words), message
