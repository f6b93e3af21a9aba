"""ONNX's inference of types lives through every operator; what it does not reach is completed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.ops.cases import Weight
from tests.ops.together import Case
from tvm_megcc.frontend import from_onnx
from tvm_megcc.frontend.half import names_by_type

#: Run by itself: what dies names itself in its last line.
EVERY_OPERATOR = """
import onnx
from onnx import helper

from tvm_megcc.frontend.inference import inferred

GIVEN = {"INT": 1, "INTS": [1, 1], "FLOAT": 1.0, "FLOATS": [1.0], "STRING": "x", "STRINGS": ["x"]}
GIVEN["TENSOR"] = helper.make_tensor("t", onnx.TensorProto.FLOAT, [1], [1.0])


def attributes(schema, all_of_them):
    kinds = {name: str(attr.type).split(".")[-1] for name, attr in schema.attributes.items()}
    return {
        name: GIVEN[kind]
        for name, kind in kinds.items()
        if kind in GIVEN and (schema.attributes[name].required or all_of_them)
    }


count = 0
for schema in onnx.defs.get_all_schemas_with_history():
    opsets = {"": 17, "ai.onnx.ml": 3, "com.microsoft": 1}
    if schema.domain not in opsets:
        continue
    opsets[schema.domain] = schema.since_version
    imports = [helper.make_opsetid(name, version) for name, version in opsets.items()]
    for operands in {schema.min_input, min(schema.max_input, 4)}:
        for all_of_them in (False, True):
            names = [f"x{k}" for k in range(operands)]
            nodes = [
                helper.make_node("Unknown", ["x"], [name], domain="com.microsoft") for name in names
            ]
            attrs = attributes(schema, all_of_them)
            nodes.append(
                helper.make_node(schema.name, names, ["y"], domain=schema.domain, **attrs)
            )
            port = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3])
            graph = helper.make_graph(nodes, "g", [port], [])
            print(schema.domain, schema.name, schema.since_version, flush=True)
            inferred(helper.make_model(graph, opset_imports=imports))
            count += 1
print(count, "inferred")
"""


@pytest.mark.slow
def test_no_operator_without_types_ends_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EVERY_OPERATOR], capture_output=True, text=True, check=False
    )
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 0, f"inference dies of {last}"
    count, word = last.split()
    assert word == "inferred"
    assert int(count) > 500


def test_types_of_a_model_in_f16_go_on_behind_operators_that_onnx_does_not_know() -> None:
    nodes = [
        helper.make_node("Scaler", ["i"], ["s"], domain="ai.onnx.ml", offset=[0.5], scale=[2.0]),
        helper.make_node("Gelu", ["s"], ["g"], domain="com.microsoft"),
        helper.make_node("Relu", ["g"], ["r"]),
        helper.make_node("Cast", ["r"], ["c"], to=TensorProto.FLOAT16),
        helper.make_node("Gelu", ["c"], ["h"], domain="com.microsoft"),
        helper.make_node("Relu", ["h"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info("i", TensorProto.INT64, [2, 16])]
    results = [helper.make_tensor_value_info("y", TensorProto.FLOAT16, None)]
    model = helper.make_model(helper.make_graph(nodes, "g", ports, results))
    found = names_by_type(model)
    assert found == ({"s", "g", "r"}, {"i", "c", "h", "y"})


X = np.ones((2, 4, 3), np.float16)
GROUPS = {"num_groups": 2}

#: Of what ONNX's inference is silent: domains that it does not know, and what an opset deprecates.
SILENT = {
    "BiasGelu": Case("BiasGelu", [X, X[0, 0]], domain="com.microsoft"),
    "QuickGelu": Case("QuickGelu", [X], domain="com.microsoft"),
    "Scatter": Case("Scatter", [X, np.zeros((1, 1, 1), np.int64), X[:1, :1, :1]], opset=13),
    "GroupNormalization": Case("GroupNormalization", [X, X[0, :2, 0], X[0, :2, 0]], GROUPS, 18),
    "GroupNormalization, weights": Case(
        "GroupNormalization", [X, *[Weight(X[0, :, 0])] * 2], GROUPS, 21
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_an_output_in_f16_that_says_no_type_is_in_f16(name: str) -> None:
    model, _ = SILENT[name].model()
    assert [port.dtype for port in from_onnx(model).outputs] == ["f16"]


def test_an_input_in_f16_is_an_output_in_f16() -> None:
    port = helper.make_tensor_value_info("x", TensorProto.FLOAT16, [2, 3])
    graph = helper.make_graph([], "g", [port], [onnx.ValueInfoProto(name="x")])
    assert [port.dtype for port in from_onnx(helper.make_model(graph)).outputs] == ["f16"]
