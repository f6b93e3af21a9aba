"""Images that models are given as planes, from ONNX to the package's results."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.closeness import assert_close
from tvm_megcc import backend

RNG = np.random.default_rng(3)


def _model(channels: int, normalised: bool) -> onnx.ModelProto:
    """A convolution 3x3, stride 2, of an image that is normalised first or not; padding is zero."""
    values = {
        "mean": RNG.standard_normal((channels, 1, 1)).astype("f4"),
        "spread": (RNG.random((channels, 1, 1)) + 0.5).astype("f4"),
        "w": RNG.standard_normal((12, channels, 3, 3)).astype("f4"),
        "b": RNG.standard_normal(12).astype("f4"),
    }
    nodes = [
        helper.make_node("Sub", ["x", "mean"], ["centred"]),
        helper.make_node("Div", ["centred", "spread"], ["image"]),
    ]
    taken = nodes if normalised else []
    image = "image" if normalised else "x"
    nodes = [
        *taken,
        helper.make_node("Conv", [image, "w", "b"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, channels, 19, 45))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 12, 10, 23))
    held = [numpy_helper.from_array(v, n) for n, v in values.items()]
    graph = helper.make_graph(nodes, "planes", [x], [y], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(("channels", "normalised"), [(3, True), (3, False), (1, True)])
def test_an_image_of_planes_is_convolved(channels: int, normalised: bool) -> None:
    model = _model(channels, normalised)
    image = RNG.standard_normal((2, channels, 19, 45)).astype("f4")
    (got,) = backend.prepare(model).run([image])
    (want,) = ReferenceEvaluator(model).run(None, {"x": image})
    assert_close(got, want)


@pytest.mark.slow
@pytest.mark.parametrize("shift", [np.inf, -3e38])
def test_a_shift_that_sums_do_not_hold_is_added_first(shift: float) -> None:
    """Padding would be its negative, and of a window's padding and pixels the sum no number."""
    held = {
        "shift": np.array([shift, 0, 0], "f4").reshape(3, 1, 1),
        "w": (RNG.random((12, 3, 3, 3)) + 0.5).astype("f4"),
    }
    nodes = [
        helper.make_node("Add", ["x", "shift"], ["image"]),
        helper.make_node("Conv", ["image", "w"], ["y"], pads=[1, 1, 1, 1], strides=[2, 2]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3, 19, 45))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 12, 10, 23))
    constants = [numpy_helper.from_array(v, n) for n, v in held.items()]
    graph = helper.make_graph(nodes, "planes", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (got,) = backend.prepare(model).run([np.ones((2, 3, 19, 45), "f4")])
    assert not np.isnan(got).any()
    assert (got == np.float32(np.sign(shift) * np.inf)).all()
