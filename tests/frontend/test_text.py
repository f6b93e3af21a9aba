"""A name that is no UTF-8 is refused in one sentence, wherever it stands."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from tvm_megcc.errors import InputError, MegccError
from tvm_megcc.frontend import from_onnx

#: What stands in the model below -> what the sentence calls it.
NAMES = {
    "graph-name": "the name of a graph",
    "input-name": "the (name|input) of a (value|node)",
    "output-name": "the (name|output) of a (value|node)",
    "dim-name": "the name of a dim",
    "weight-name": "the (name|input) of a (tensor|node)",
    "sparse-name": "the name of a tensor",
    "node-name": "the name of a node",
    "attribute-name": "the name of an attribute",
    "inner-name": "the (name|output) of a (value|node)",
    "operator-name": "the operator of a node",
    "domain-name": "the domain of a(n opset| node| function)",
    "function-name": "the (name|operator) of a (function|node)",
    "function-input": "the input of a (function|node)",
    "function-attribute": "the attribute of a function",
    "key-name": "the key of an entry",
}
UNREAD = ("documentation", "producer-name", "metadata-key")


def _model() -> bytes:
    inner = helper.make_graph(
        [helper.make_node("Identity", ["weight-name"], ["inner-name"])],
        "inner",
        [],
        [helper.make_tensor_value_info("inner-name", TensorProto.FLOAT, [1])],
    )
    nodes = [
        helper.make_node("function-name", ["input-name"], ["v"], "node-name", domain="domain-name"),
        helper.make_node("operator-name", ["v"], ["w"], domain="other", **{"attribute-name": 1}),
        helper.make_node("If", ["w"], ["output-name"], then_branch=inner, else_branch=inner),
    ]
    weight = helper.make_tensor("weight-name", TensorProto.FLOAT, [1], [0.0])
    weight.external_data.add(key="key-name", value="x")
    values = helper.make_tensor("sparse-name", TensorProto.FLOAT, [1], [1.0])
    indices = helper.make_tensor("i", TensorProto.INT64, [1], [0])
    graph = helper.make_graph(
        nodes,
        "graph-name",
        [helper.make_tensor_value_info("input-name", TensorProto.FLOAT, ["dim-name"])],
        [helper.make_tensor_value_info("output-name", TensorProto.FLOAT, None)],
        [weight],
        doc_string="documentation",
        sparse_initializer=[helper.make_sparse_tensor(values, indices, [2])],
    )
    opsets = [helper.make_opsetid(d, 17 if not d else 1) for d in ("", "domain-name", "other")]
    function = helper.make_function(
        "domain-name", "function-name", ["function-input"], ["y"],
        [helper.make_node("Relu", ["function-input"], ["y"])], opsets[:1], ["function-attribute"],
    )  # fmt: skip
    made = helper.make_model(
        graph, opset_imports=opsets, functions=[function], producer_name="producer-name"
    )
    made.metadata_props.add(key="metadata-key", value="x")
    return made.SerializeToString()


def _spoilt(name: str) -> onnx.ModelProto:
    data, word = _model(), name.encode()
    assert word in data
    return onnx.load_model_from_string(data.replace(word, b"\xff" + word[1:]))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_text(name: str) -> None:
    said = rf"^the model: {NAMES[name]} is b'\\xff{name[1:]}', which is no text; export "
    with pytest.raises(InputError, match=said):
        from_onnx(_spoilt(name))


@pytest.mark.parametrize("name", UNREAD)
def test_what_is_not_read_may_be_anything(name: str) -> None:
    with pytest.raises(MegccError) as caught:  # it names no operator of ONNX
        from_onnx(_spoilt(name))
    assert "no text" not in str(caught.value)
