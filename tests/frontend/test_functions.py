"""Functions of a model: what a call of them computes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, parser

from tests.frontend.running import check, run
from tvm_megcc.errors import InputError, UnsupportedError
from tvm_megcc.frontend import from_onnx

X = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)


def model(call: str, *functions: str):
    return parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 18, "local" : 1]>'
        f"agraph (float[2, 3] x) => (float[2, 3] y) {{ {call} }}\n" + "\n".join(functions)
    )


def function(text: str, opset: int = 18) -> str:
    return f'<opset_import: ["" : {opset}, "local" : 1], domain: "local">\n{text}'


def test_functions_call_functions():
    twice = function("twice (a) => (b) { b = Add (a, a) }")
    more = function("more (a) => (d) { c = local.twice (a) d = local.twice (c) }")
    check(model("y = local.more (x)", twice, more), {"x": X})


def test_attributes_reach_nodes_and_branches():
    leaky = function("leaky <slope> (a) => (b) { b = LeakyRelu <alpha: float = @slope> (a) }")
    check(model("y = local.leaky <slope = 0.5> (x)", leaky), {"x": X})
    either = function(
        """either <slope> (a, c) => (b) {
            b = If (c) <then_branch = yes () => (t) { t = LeakyRelu <alpha: float = @slope> (a) },
                        else_branch = no () => (e) { e = Neg (a) }>
        }"""
    )
    call = "zero = Constant <value_float = 0.0> () m = ReduceMax <keepdims = 0> (x)"
    call += " c = Greater (m, zero) y = local.either <slope = 0.5> (x, c)"
    check(model(call, either), {"x": X})


def test_attributes_have_defaults():
    leaky = function("leaky <slope: float = 0.25> (a) => (b) {"
                     " b = LeakyRelu <alpha: float = @slope> (a) }")  # fmt: skip
    check(model("y = local.leaky (x)", leaky), {"x": X})
    # One that has none leaves the node its own.
    leaky = function("leaky <slope> (a) => (b) { b = LeakyRelu <alpha: float = @slope> (a) }")
    check(model("y = local.leaky (x)", leaky), {"x": X})


def test_operands_may_be_left_out():
    clip = function("clip (a, low, high) => (b) { b = Clip (a, low, high) }")
    call = "zero = Constant <value_float = 0.0> () y = local.clip (x, zero)"
    check(model(call, clip), {"x": X})
    call = 'one = Constant <value_float = 1.0> () y = local.clip (x, "", one)'
    proto = model(call.replace('""', "zero").replace("zero", "one"), clip)
    proto.graph.node[1].input[1] = ""
    check(proto, {"x": X})


def test_results_may_be_left_out():
    both = function("both (a) => (b, c) { b = Neg (a) c = Abs (a) }")
    proto = model("z, y = local.both (x)", both)
    proto.graph.node[0].output[0] = ""
    check(proto, {"x": X})


def test_functions_have_opsets_of_their_own():
    """Opset 12 has the axes of a sum as an attribute."""
    total = function("total (a) => (b) { c = ReduceSum <axes = [1]> (a) b = Sub (a, c) }", 12)
    (result,) = run(from_onnx(model("y = local.total (x)", total)), {"x": X})
    np.testing.assert_array_equal(result, X - X.sum(1, keepdims=True))


def test_nodes_of_functions_may_stand_in_any_order():
    late = function("late (a) => (c) { b = Neg (a) c = Abs (b) }")
    proto = model("y = local.late (x)", late)
    nodes = list(proto.functions[0].node)[::-1]
    del proto.functions[0].node[:]
    proto.functions[0].node.extend(nodes)
    imported = from_onnx(proto)
    assert imported.outputs[0].shape == (2, 3)


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        (["f (a) => (b) { b = local.f (a) }"], "'f' of the model calls itself .f -> f."),
        (["f (a) => (b) { b = local.g (a) }", "g (a) => (b) { b = local.f (a) }"], "f -> g -> f"),
        (["f (a) => (b) { b = Add (a, c) }"], "function 'f' of the model: Add 'b': reads 'c'"),
        (["f (a) => (b) { c = Neg (a) }"], "output 'b': nothing defines it"),
    ],
)
def test_functions_that_cannot_be_called(functions: list[str], words: str):
    with pytest.raises(InputError, match=words):
        from_onnx(model("y = local.f (x)", *map(function, functions)))


def test_missing_operators_of_functions_are_named():
    text = function("f (a) => (b) { b = local.nothing (a) }")
    with pytest.raises(UnsupportedError, match="nothing 'y/nothing' .operator local::nothing"):
        from_onnx(model("y = local.f (x)", text))


def test_definitions_of_the_standard_know_types_of_initialisers():
    """The definition of a loss depends on whether weights and ignored index are there."""
    scores = np.random.default_rng(0).random((2, 3), np.float32)
    nodes = [helper.make_node("NegativeLogLikelihoodLoss", ["x", "t", "w"], ["y"], ignore_index=1)]
    ports = [helper.make_tensor_value_info("x", 1, [2, 3])]
    outputs = [helper.make_tensor_value_info("y", 1, [])]
    weights = [helper.make_tensor("t", 7, [2], [1, 2]), helper.make_tensor("w", 1, [3], [1, 2, 3])]
    graph = helper.make_graph(nodes, "g", ports, outputs, weights)
    opsets = [helper.make_opsetid("", 17)]
    check(helper.make_model(graph, opset_imports=opsets, ir_version=8), {"x": scores})
