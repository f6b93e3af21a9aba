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
from tvm_megcc.frontend.rules import refuse_types
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


@pytest.mark.parametrize("op", ["NhwcMaxPool", "QLinearAveragePool"])
@pytest.mark.parametrize("name", ["pads", "strides"])
def test_windows_without_a_schema_are_windows(op: str, name: str) -> None:
    given = {"kernel_shape": [2, 2], name: [-1, 1, 1, 1][: 2 if name == "strides" else 4]}
    with pytest.raises(MegccError, match=f"{op} 'odd': {name}=.* must be at least"):
        checked(helper.make_node(op, ["x"], ["y"], "odd", domain="com.microsoft", **given))


def _kinds(elems: list[int]) -> list[onnx.TypeProto]:
    return [
        helper.make_tensor_type_proto(elem, None) if elem else onnx.TypeProto() for elem in elems
    ]


def test_operands_of_one_type_have_one() -> None:
    halves = {"tensor(float16)", "tensor(bfloat16)"}  # f32 here
    seen = 0
    for schema in onnx.defs.get_all_schemas():
        for constraint in schema.type_constraints:
            group = [
                k for k, f in enumerate(schema.inputs) if f.type_str == constraint.type_param_str
            ]
            texts = sorted(set(constraint.allowed_type_strs) - halves)
            texts = [t for t in texts if t.startswith("tensor(") and "string" not in t]
            if schema.domain not in ("", "ai.onnx.ml") or len(group) < 2 or len(texts) < 2:
                continue
            first, other = (TensorProto.DataType.Value(t[7:-1].upper()) for t in texts[:2])
            node = helper.make_node(schema.name, ["x"] * len(schema.inputs), ["y"], "odd")
            node.domain = schema.domain
            elems = [first if k in group else 0 for k in range(len(schema.inputs))]
            opsets = {schema.domain: schema.since_version}
            refuse_types(node, _kinds(elems), opsets)
            elems[group[-1]] = other
            with pytest.raises(MegccError, match=f"{schema.name} 'odd'.* one type; correct"):
                refuse_types(node, _kinds(elems), opsets)
            seen += 1
    assert seen > 50


_STEP, _POINT = np.array(0.5, np.float32), np.array(3, np.uint8)
_ROW = [np.ones((1, 2, 3, 3), np.uint8), _STEP, _POINT]
_TWO = [np.ones((3, 3), np.uint8), _STEP, _POINT]
#: com.microsoft's operator -> its operands, attributes, and which are like others of them.
QUANTISED: dict[str, tuple[list[np.ndarray | None], dict[str, object], tuple[int, ...]]] = {
    "QLinearAdd": ([*_ROW, *_ROW, *_ROW[1:]], {}, (0, 2, 3, 5, 7)),
    "QLinearMul": ([*_ROW, *_ROW, *_ROW[1:]], {}, (0, 2, 3, 5, 7)),
    "QLinearLeakyRelu": ([*_ROW, *_ROW[1:]], {}, (0, 2, 4)),
    "QLinearSigmoid": ([*_ROW, *_ROW[1:]], {}, (0, 2, 4)),
    "QLinearSoftmax": ([*_ROW, *_ROW[1:]], {"opset": 13}, (0, 2, 4)),
    "QLinearAveragePool": ([*_ROW, *_ROW[1:]], {"kernel_shape": [1, 1]}, (0, 2, 4)),
    "QLinearGlobalAveragePool": ([*_ROW, *_ROW[1:]], {}, (0, 2, 4)),
    "QLinearWhere": (
        [np.ones((1, 2, 3, 3), bool), *_ROW, *_ROW, *_ROW[1:]], {}, (1, 3, 4, 6, 8),
    ),
    "QGemm": ([*_TWO, *_TWO, np.ones(3, np.int32), *_ROW[1:]], {}, (2, 5)),
    "MatMulIntegerToFloat": ([_TWO[0], _TWO[0], _STEP, _STEP, _POINT, _POINT], {}, (4, 5)),
    "DynamicQuantizeLSTM": (
        [np.ones((1, 1, 2), np.float32), np.ones((1, 2, 4), np.uint8), np.ones((1, 1, 4), np.uint8),
         *[None] * 5, _STEP[None], _POINT[None], _STEP[None], _POINT[None]],
        {"hidden_size": 1}, (2, 9, 11),
    ),
    "DynamicQuantizeMatMul": ([np.ones((3, 3), np.float32), *_TWO], {}, (3,)),
}  # fmt: skip


@pytest.mark.parametrize("op", QUANTISED)
def test_operands_of_one_type_of_an_operator_without_schema(op: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    operands, attrs, others = QUANTISED[op]

    def model(arrays: list[np.ndarray | None]) -> onnx.ModelProto:
        names = ["" if a is None else f"x{k}" for k, a in enumerate(arrays)]
        node = helper.make_node(op, names, ["y"], "odd", domain="com.microsoft", **attrs)
        known = [
            numpy_helper.from_array(a, n)
            for n, a in zip(names[1:], arrays[1:], strict=True)
            if a is not None
        ]
        first = arrays[0]
        assert first is not None
        kind = helper.np_dtype_to_tensor_dtype(first.dtype)
        port = helper.make_tensor_value_info(names[0], kind, first.shape)
        result = TensorProto.FLOAT if "Float" in op or "Dynamic" in op else TensorProto.UINT8
        graph = helper.make_graph(
            [node], "g", [port], [helper.make_tensor_value_info("y", result, None)], known
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def loaded(made: onnx.ModelProto) -> object:
        return runtime.InferenceSession(
            made.SerializeToString(), providers=["CPUExecutionProvider"]
        )

    from_onnx(model(operands))
    loaded(model(operands))
    for k in others:
        odd = [a.astype(np.int8) if j == k and a is not None else a for j, a in enumerate(operands)]
        with pytest.raises(Exception, match=r"[Tt]ype"):
            loaded(model(odd))
        with pytest.raises(MegccError, match=f"{op} 'odd'.* one type; correct the model"):
            from_onnx(model(odd))
