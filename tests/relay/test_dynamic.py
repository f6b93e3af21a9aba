"""Shapes that change between runs: `GraphModule`, the TVM library, and ``tvmc run`` of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tvm
from onnx import TensorProto as T
from onnx import helper

from tests.closeness import assert_close
from tests.dispatch.support import dense, expected, two_expected, two_inputs
from tests.ops.test_control_flow import const, graph, loop_model
from tvm_megcc import driver, execute, relay
from tvm_megcc.errors import InputError
from tvm_megcc.host.arrays import fill, sized

RNG = np.random.default_rng(2)


@pytest.mark.slow
def test_shapes_change_between_runs() -> None:
    mod, params = relay.frontend.from_onnx(two_inputs())
    m = relay.GraphModule(relay.build(mod, params=params)["default"](tvm.cpu()))
    assert m.get_input_shape("a") == (None, None, 3)
    for n, wa, wb in ((1, 2, 3), (4, 1, 1), (4, 1, 1), (2, 0, 7), (1, 2, 3)):
        a = RNG.standard_normal((n, wa, 3)).astype("float32")
        b = RNG.standard_normal((n, wb, 3)).astype("float32")
        m.set_input("a", a)
        m.set_input("b", b)
        m.run()
        np.testing.assert_allclose(m.get_output(0).numpy(), two_expected(a, b), rtol=1e-6)
        np.testing.assert_array_equal(m.get_input("b").numpy(), b)
    assert m.get_input_shape(0) == (1, 2, 3)


def test_shapes_that_do_not_fit_together() -> None:
    mod, params = relay.frontend.from_onnx(two_inputs())
    m = relay.GraphModule(relay.build(mod, params=params)["default"](tvm.cpu()))
    with pytest.raises(ValueError, match="has not been set"):
        m.run()
    with pytest.raises(ValueError, match="does not fit"):
        m.set_input("a", np.ones((1, 1, 4), "float32"))
    m.set_input("a", np.ones((1, 1, 3), "float32"))
    m.set_input("b", np.ones((2, 1, 3), "float32"))
    said = "'b', dim 0, batch: .* another size .2 and 1.; distinct_dims makes them two dims"
    with pytest.raises(ValueError, match=said):
        m.run()
    m.set_input("b", np.ones((1, 1, 3), "float32"))
    m.run()
    assert m.get_output(0).numpy().shape == (1, 2, 3)


@pytest.mark.slow
def test_dispatched_library() -> None:
    mod = dense()
    mod.dispatch("main", {"x": (relay.Any(), 4)}, relay.vm.log_dispatcher)
    m = relay.GraphModule(relay.build(mod)["default"](tvm.cpu()))
    for n in (1, 2, 3, 9, 300, 1):
        x = RNG.standard_normal((n, 4)).astype("float32")
        m.run(x=x)
        assert_close(m.get_output(0).numpy(), expected(x))


def test_library_from_the_command_line(tmp_path: Path) -> None:
    driver.compile_model(two_inputs(), tmp_path / "two.so")
    with execute.opened(tmp_path / "two.so") as runnable:
        assert [p.shape for p in runnable.inputs] == [
            ("a_dim0", "a_dim1", 3), ("b_dim0", "b_dim1", 3),
        ]  # fmt: skip
        inputs = fill(sized(runnable.inputs, {"a": (2, 1, 3), "b": (2, 4, 3)}), "random")
        outputs = runnable.run(inputs).outputs
    np.testing.assert_allclose(outputs["y"], two_expected(**inputs), rtol=1e-6)


def test_no_graph_json_of_sizes_that_change() -> None:
    mod, params = relay.frontend.from_onnx(two_inputs())
    with pytest.raises(InputError, match="no sizes that change"):
        relay.build(mod, params=params).get_graph_json()


def test_no_graph_json_of_a_loop() -> None:
    body = graph(
        "body", [helper.make_node("Identity", ["c"], ["c1"]),
                 helper.make_node("Add", ["h", "h"], ["h1"])],
        [("i", T.INT64, []), ("c", T.BOOL, []), ("h", T.FLOAT, [2])],
        [("c1", T.BOOL), ("h1", T.FLOAT)],
    )  # fmt: skip
    proto = loop_model(
        body, [("h0", T.FLOAT, [2])], [("h", T.FLOAT)], weights=[const("m", 5)]
    )  # fmt: skip
    mod, params = relay.frontend.from_onnx(proto)
    lib = relay.build(mod, params=params)
    with pytest.raises(InputError, match="no branches, loops"):
        lib.get_graph_json()
    m = relay.GraphModule(lib["default"](tvm.cpu()))
    m.run(h0=np.ones(2, "float32"))
    np.testing.assert_array_equal(m.get_output(0).numpy(), np.full(2, 32, "float32"))
