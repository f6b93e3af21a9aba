"""Bad models: each gives one sentence with the place, the fact and the remedy."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.frontend.running import make_model, run
from tvm_megcc.errors import InputError, UnsupportedError
from tvm_megcc.frontend import from_onnx

X = np.arange(4, dtype=np.float32)


def small(opset: int = 17) -> onnx.ModelProto:
    nodes = [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("Add", ["h", "w"], ["y"])]
    return make_model(nodes, {"x": ("float32", [4])}, ["y"], {"w": X}, opset)


def fails(model, kind, *parts):
    with pytest.raises(kind) as caught:
        from_onnx(model)
    message = str(caught.value)
    assert "\n" not in message
    for part in parts:
        assert part in message
    return message


def test_missing_file(tmp_path):
    fails(tmp_path / "none.onnx", InputError, "none.onnx", "no such file")


def test_empty_file(tmp_path):
    path = tmp_path / "empty.onnx"
    path.touch()
    fails(path, InputError, "empty.onnx", "empty")


@pytest.mark.parametrize("data", [b"hello, world", b"\x00" * 100, b"PK\x03\x04" + b"x" * 50])
def test_file_that_is_not_onnx(tmp_path, data):
    path = tmp_path / "text.onnx"
    path.write_bytes(data)
    fails(path, InputError, "text.onnx", "not an ONNX model")


def test_truncated_at_every_length(tmp_path):
    path = tmp_path / "cut.onnx"
    whole = small().SerializeToString()
    for length in range(1, len(whole), 7):
        path.write_bytes(whole[:length])
        fails(path, InputError)


def test_directory(tmp_path):
    fails(tmp_path, InputError, "cannot be read")


def test_external_data(tmp_path):
    path = tmp_path / "big.onnx"
    onnx.save_model(small(), path, save_as_external_data=True, location="big.bin", size_threshold=0)
    imported = from_onnx(path)
    np.testing.assert_array_equal(run(imported, {"x": X})[0], 2 * X)
    (tmp_path / "big.bin").write_bytes(b"\x00")
    fails(path, InputError, "'w'", "big.bin")
    (tmp_path / "big.bin").unlink()
    fails(path, InputError, "'w'", "big.bin", "put it beside the model")
    fails(onnx.load(path, load_external_data=False), InputError, "'w'", "in another file")


def test_missing_opset():
    model = small()
    del model.opset_import[:]
    fails(model, InputError, "opset 'ai.onnx'")


def test_newer_opset():
    model = small()
    model.opset_import[0].version = 9999
    fails(model, InputError, "9999", "upgrade onnx")


def test_old_ir_version():
    model = small()
    model.ir_version = 2
    fails(model, InputError, "IR version 2")


def test_no_output():
    model = small()
    del model.graph.output[:]
    fails(model, InputError, "no output")


def test_unsorted_graph_is_sorted():
    model = small()
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(reversed(nodes))
    np.testing.assert_array_equal(run(from_onnx(model), {"x": X})[0], 2 * X)


def test_cycle():
    model = small()
    model.graph.node[0].input[0] = "y"
    fails(model, InputError, "Relu", "cycle")


def test_undefined_name():
    model = small()
    model.graph.node[1].input[1] = "nowhere"
    fails(model, InputError, "Add", "'nowhere'")


def test_undefined_output():
    model = small()
    model.graph.output[0].name = "nowhere"
    fails(model, InputError, "output 'nowhere'")


def test_name_defined_twice():
    model = small()
    model.graph.node[1].output[0] = "h"
    fails(model, InputError, "'h' is defined twice")


def test_damaged_weight():
    model = small()
    model.graph.initializer[0].raw_data = b"\x00\x00"
    fails(model, InputError, "weight 'w'")


def test_string_input():
    node = helper.make_node("Identity", ["x"], ["y"])
    port = helper.make_tensor_value_info("x", TensorProto.STRING, [1])
    result = helper.make_tensor_value_info("y", TensorProto.STRING, [1])
    model = helper.make_model(helper.make_graph([node], "g", [port], [result]))
    model.ir_version = 9
    fails(model, UnsupportedError, "'x'", "string")


def test_sequence_input():
    node = helper.make_node("SequenceLength", ["x"], ["y"])
    port = helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None)
    result = helper.make_tensor_value_info("y", TensorProto.INT64, [])
    model = helper.make_model(helper.make_graph([node], "g", [port], [result]))
    model.ir_version = 9
    fails(model, UnsupportedError, "'x'", "sequence")


def test_unknown_operators_are_listed_together():
    nodes = [
        helper.make_node("Frobnicate", ["x"], ["a"], name="one", domain="org.example"),
        helper.make_node("Relu", ["a"], ["b"], name="fine"),
        helper.make_node("NoSuchOp", ["b"], ["y"], name="two"),
    ]
    model = make_model(nodes, {"x": ("float32", [4])}, ["y"], domains={"org.example": 1})
    message = fails(
        model,
        UnsupportedError,
        "'one' (operator org.example::Frobnicate)",
        "'two' (operator ai.onnx::NoSuchOp)",
    )
    assert "fine" not in message


def test_an_operator_that_is_refused_has_its_own_remedy():
    node = helper.make_node("ImageDecoder", ["x"], ["y"], name="jpeg")
    model = make_model([node], {"x": ("uint8", [4])}, ["y"], opset=20)
    told = "'jpeg' (operator ai.onnx::ImageDecoder; decode image files before the model)"
    fails(model, UnsupportedError, told)


def test_unknown_operator_that_no_output_needs():
    model = small()
    model.graph.node.append(helper.make_node("NoSuchOp", ["x"], ["unused"]))
    np.testing.assert_array_equal(run(from_onnx(model), {"x": X})[0], 2 * X)


def test_node_that_cannot_be_converted_is_named():
    node = helper.make_node("Reshape", ["x", "s"], ["y"], name="odd")
    model = make_model([node], {"x": ("float32", [4])}, ["y"], {"s": np.array([3, 5], np.int64)})
    fails(model, UnsupportedError, "Reshape 'odd'")


def test_the_callers_model_is_left_alone():
    model = small()
    before = model.SerializeToString()
    from_onnx(model, {"x": (4,)})
    assert model.SerializeToString() == before
