"""What ONNX's schemas say, and what they leave to the text: words, operands, versions, types."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.frontend.running import make_model
from tvm_megcc.errors import MegccError
from tvm_megcc.frontend import from_onnx, wellformed
from tvm_megcc.frontend.words import WORDS, check_words

LISTS = {"nodes_modes"}


def checked(node: onnx.NodeProto) -> None:
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    graph = helper.make_graph([node], "g", [], [])
    wellformed.check(helper.make_model(graph, opset_imports=opsets))


@pytest.mark.parametrize(
    ("domain", "op", "name"), [(*key, name) for key, table in WORDS.items() for name in table]
)
def test_words_are_those_that_onnx_has(domain: str, op: str, name: str) -> None:
    def node(word: str | bytes) -> onnx.NodeProto:
        value = [word] if name in LISTS else word
        return helper.make_node(op, ["x"], ["y"], "odd", domain=domain, **{name: value})

    for word in WORDS[domain, op][name]:
        check_words(node(word), domain)
    for word, said in (("no such", f"{name} 'no such' is none of"), (b"\xff", "is no text")):
        with pytest.raises(MegccError, match=said) as caught:
            check_words(node(word), domain)
        assert f"{op} 'odd'" in str(caught.value)


def test_words_are_those_of_every_attribute_that_is_text() -> None:
    """A new opset's attribute stands in the table, or here as text that is not one of a few."""
    free = {
        "to", "value_string", "value_strings", "equation", "activations", "pattern", "locale",
        "stopwords", "delimiter", "pool_strings", "pixel_format", "case_change_action",
        "activation", "update_rule",
    }  # fmt: skip
    for schema in onnx.defs.get_all_schemas():
        for name, said in schema.attributes.items():
            if schema.domain == "" and "STRING" in said.type.name and name not in free:
                assert name in WORDS["", schema.name], (schema.name, name)


def test_an_operand_that_must_be_there_is_not_left_out() -> None:
    option = onnx.defs.OpSchema.FormalParameterOption
    seen = 0
    for schema in onnx.defs.get_all_schemas():
        wanted = [k for k, f in enumerate(schema.inputs) if f.option != option.Optional]
        if schema.domain or schema.deprecated or not wanted or schema.since_version > 21:
            continue
        for k in wanted:
            count = max(schema.min_input, k + 1)
            inputs = ["" if n == k else f"x{n}" for n in range(count)]
            outputs = [f"y{n}" for n in range(schema.min_output)]
            with pytest.raises(
                MegccError, match=f"{schema.name} 'odd': its operand {k} is missing"
            ):
                checked(helper.make_node(schema.name, inputs, outputs, "odd"))
            seen += 1
    assert seen > 150


@pytest.mark.parametrize("version", [-1, 1 << 31, 1 << 40])
@pytest.mark.parametrize("domain", ["ai.onnx.ml", "com.microsoft", ""])
def test_an_opset_has_a_version(domain: str, version: int) -> None:
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": ("float32", [4])}, ["y"])
    if not domain:
        del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid(domain, version))
    with pytest.raises(MegccError, match=str(version)):
        from_onnx(model)


def body(op: str, *inputs: str, name: str = "t") -> onnx.GraphProto:
    port = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    return helper.make_graph([helper.make_node(op, inputs, [name])], "body", [], [port])


#: Nodes that read ``w``.
READERS = {
    "Add": lambda: helper.make_node("Add", ["x", "w"], ["y"], "odd"),
    "Slice": lambda: helper.make_node("Slice", ["x", "w", "w"], ["y"], "odd"),
    "Identity": lambda: helper.make_node("Identity", ["w"], ["y"], "odd"),
    "Shrink": lambda: helper.make_node("Shrink", ["w"], ["y"], "odd"),
    "Concat": lambda: helper.make_node("Concat", ["x", "w"], ["y"], "odd", axis=0),
    "Mish": lambda: helper.make_node("Mish", ["w"], ["y"], "odd"),
    "SequenceConstruct": lambda: helper.make_node("SequenceConstruct", ["w", "x"], ["y"], "odd"),
    "If": lambda: helper.make_node(
        "If", ["c"], ["y"], "odd",
        then_branch=body("Identity", "w"), else_branch=body("Identity", "x", name="e"),
    ),
    "Where": lambda: helper.make_node("Where", ["c", "x", "w"], ["y"], "odd"),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "object"])
@pytest.mark.parametrize("op", READERS)
def test_a_constant_that_no_kernel_can_hold(op: str, dtype: str) -> None:
    ports = {"x": ("float32", [4]), "c": ("bool", [])}
    weight = np.array(["a", "b", "c", "d"] if dtype == "object" else [1, 2, 3, 4], dtype)
    model = make_model([READERS[op]()], ports, ["y"])
    model.graph.output[0].ClearField("type")
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    with pytest.raises(MegccError) as caught:
        from_onnx(model)
    assert re.search("'(odd|y|t)[^']*'.* (is|a) ", str(caught.value)), caught.value


@pytest.mark.parametrize(
    ("op", "inputs", "said"),
    [
        ("Xor", ["x", "c"], "its input 0 is float and may be bool"),
        ("Not", ["x"], "its input 0 is float and may be bool"),
        ("Slice", ["x", "x", "x"], "its input 1 is float and may be int32, int64"),
        ("BitwiseAnd", ["x", "x"], "its input 0 is float and may be uint8"),
        ("Max", ["n", "c"], "its input 1 is bool and may be"),
        ("Erf", ["c"], "its input 0 is bool and may be"),
        ("If", ["x"], "its input 0 is float and may be bool"),
        ("Loop", ["x", "c", "x"], "its input 0 is float and may be int64"),
    ],
)
def test_an_operand_is_of_a_type_that_its_operator_takes(op: str, inputs: list, said: str) -> None:
    ports = {"x": ("float32", [4]), "c": ("bool", []), "n": ("int64", [])}
    attrs: dict[str, object] = {}
    if op == "If":
        attrs = {"then_branch": body("Exp", "x"), "else_branch": body("Abs", "x", name="e")}
    if op == "Loop":
        attrs = {"body": loop_body()}
    node = helper.make_node(op, inputs, ["y"], "odd", **attrs)
    read = {name: ports[name] for name in (*inputs, "x")}
    with pytest.raises(MegccError, match=f"{op} 'odd': {said}"):
        from_onnx(make_model([node], read, ["y"]))


@pytest.mark.parametrize(
    ("op", "inputs", "attrs"),
    [
        ("BiasGelu", ["m", "c"], {}),
        ("FastGelu", ["m", "c"], {}),
        ("FusedMatMul", ["m", "c"], {}),
        ("FusedGemm", ["m", "c"], {"activation": "Relu"}),
        ("SkipLayerNormalization", ["m", "c", "c"], {}),
    ],
)
def test_no_number_of_com_microsoft_is_a_bool(op: str, inputs: list[str], attrs: dict) -> None:
    ports = {"m": ("float32", [4, 4]), "c": ("bool", [4])}
    node = helper.make_node(op, inputs, ["y"], "odd", domain="com.microsoft", **attrs)
    model = make_model([node], ports, ["y"], domains={"com.microsoft": 1})
    with pytest.raises(MegccError, match=f"{op} 'odd': its input 1 is bool and may be a number"):
        from_onnx(model)


def loop_body() -> onnx.GraphProto:
    port = helper.make_tensor_value_info
    ports = [("i", TensorProto.INT64), ("k", TensorProto.BOOL), ("s", TensorProto.FLOAT)]
    nodes = [helper.make_node("Identity", [a], [a + "1"]) for a in "ks"]
    results = [helper.make_empty_tensor_value_info(name) for name in ("k1", "s1")]
    return helper.make_graph(nodes, "body", [port(n, t, None) for n, t in ports], results)


def test_more_dims_than_a_tensor_has() -> None:
    many = make_model([helper.make_node("Abs", ["x"], ["y"])], {"x": ("float32", [1] * 65)}, ["y"])
    with pytest.raises(MegccError, match="input 'x' has 65 dims; a tensor has 64 at most"):
        from_onnx(many)
    node = helper.make_node("ConstantOfShape", ["n"], ["y"], "odd")
    with pytest.raises(MegccError, match="'odd': its operand 0 has 46341 elements"):
        from_onnx(make_model([node], {"n": ("int64", [46341])}, ["y"]))
