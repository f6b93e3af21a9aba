"""``relay.frontend.from_onnx``: weights by name, exact port names, shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import tvm
from onnx import TensorProto, helper, numpy_helper

from tests.cli import tiny
from tvm_megcc import frontend, relay
from tvm_megcc.errors import InputError


def test_from_onnx_weights_are_parameters(model: onnx.ModelProto) -> None:
    mod, params = relay.frontend.from_onnx(model)
    assert list(params) == ["w"]
    np.testing.assert_array_equal(params["w"].numpy(), tiny.WEIGHT)
    main = mod["main"]
    assert len(main.params) == 2 and main.params[1].name == "w"
    assert int(main.attrs["num_input"]) == 1
    assert [str(n) for n in main.attrs["tvm_megcc.output_names"]] == ["y/0", "sum"]


def test_from_onnx_lifting_and_binding_is_the_identity(model: onnx.ModelProto) -> None:
    mod, params = relay.frontend.from_onnx(model)
    bound = tvm.relax.transform.BindParams("main", params)(mod)["main"].without_attr("num_input")
    for key in ("input_names", "output_names", "input_dtypes", "output_dtypes", "model_name"):
        bound = bound.without_attr(f"tvm_megcc.{key}")
    expected = frontend.from_onnx(model).mod["main"].without_attr("num_input")
    tvm.ir.assert_structural_equal(bound, expected)


def test_from_onnx_frozen(model_file: Path) -> None:
    mod, params = relay.frontend.from_onnx(str(model_file), freeze_params=True)
    assert params == {} and len(mod["main"].params) == 1


def test_from_onnx_names_equal_weights_apart() -> None:
    weight = np.ones((3,), np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Add", ["x", "a"], ["x1"]),
            helper.make_node("Relu", ["x1"], ["x2"]),
            helper.make_node("Add", ["x2", "b"], ["y"]),
        ],
        "equal",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
        [numpy_helper.from_array(weight, name) for name in ("a", "b")],
    )
    mod, params = relay.frontend.from_onnx(tiny.finish(graph))
    assert sorted(params) in (["a", "b"], ["a"])  # one constant may serve both
    values = dict(params)
    values["a"] = tvm.runtime.tensor(np.full(3, 2, np.float32))
    lib = relay.build(mod, params=values)
    m = relay.GraphModule(lib["default"](tvm.cpu()))
    m.set_input("x", np.zeros(3, np.float32))
    m.run()
    assert m.get_output(0).numpy().tolist() == ([3.0] * 3 if len(params) == 2 else [4.0] * 3)


def test_from_onnx_any_keeps_the_models_dim() -> None:
    mod, _ = relay.frontend.from_onnx(tiny.dynamic(), shape={"x": (relay.Any(), 3)})
    assert str(mod["main"].params[0].ty.shape[0]) == "rows"
    mod, _ = relay.frontend.from_onnx(tiny.dynamic(), shape={"x": (5, 3)})
    assert int(mod["main"].params[0].ty.shape[0]) == 5


def test_from_onnx_checks_dtype_and_names(model: onnx.ModelProto) -> None:
    relay.frontend.from_onnx(model, dtype="float32")
    relay.frontend.from_onnx(model, dtype={"x:0": "float32"})
    with pytest.raises(InputError, match="float32"):
        relay.frontend.from_onnx(model, dtype={"x:0": "float16"})
    with pytest.raises(InputError, match="nope"):
        relay.frontend.from_onnx(model, dtype={"nope": "float32"})
    with pytest.raises(InputError, match="nope"):
        relay.frontend.from_onnx(model, shape={"nope": (1,)})
