"""In a model with f16 and f32: values inside functions have the type of what is around them."""

from __future__ import annotations

import onnx
import pytest

from tvm_megcc import frontend, passes
from tvm_megcc.relax_tools.calls import op_name

#: Functions that multiply twice; their values are called as two of the model are.
_FUNCTIONS = """
<domain: "own", opset_import: ["": 18]>
twice (x) => (z) { y = MatMul(x, x)  h = Identity(y)  z = MatMul(h, x) }
<domain: "own", opset_import: ["": 18, "own": 1]>
nested (x) => (z) { h = own.twice(x)  y = Neg(h)  z = own.twice(y) }
"""
NODES = {
    "f16 first": "h = own.FN(a)  y = own.FN(b)",
    "f32 first": "y = own.FN(b)  h = own.FN(a)",
    "values of these names before": "y = Neg(b)  h = Neg(a)  d = own.FN(a)  c = own.FN(b)",
}


@pytest.mark.parametrize("function", ["twice", "nested"])
@pytest.mark.parametrize("name", NODES)
def test_a_function_is_in_the_type_of_its_call(name: str, function: str) -> None:
    outputs = "float16[2, 2] d, float[3, 3] c" if "d =" in NODES[name] else ""
    ports = f"(float16[2, 2] a, float[3, 3] b) => ({outputs or 'float16[2, 2] h, float[3, 3] y'})"
    text = f'<ir_version: 9, opset_import: ["": 18, "own": 1]> g {ports} {{ {NODES[name]} }}'
    model = onnx.parser.parse_model(text.replace("FN", function) + _FUNCTIONS)
    mod = passes.stages("portable")["canonicalise"](frontend.from_onnx(model, None).mod)
    found = [
        (int(binding.var.ty.shape[0]), str(binding.var.ty.dtype))
        for block in mod["main"].body.blocks
        for binding in block.bindings
        if op_name(binding.value) == "relax.matmul"
    ]
    times = {"twice": 2, "nested": 4}[function]
    assert sorted(found) == [(2, "float16")] * times + [(3, "float32")] * times
