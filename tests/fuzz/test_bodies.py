"""Loop and Scan by ONNX's text: what ONNX Runtime gives, where it gives something."""

from __future__ import annotations

import contextlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.fuzz import evaluate
from tests.fuzz.bodies import has_lists
from tests.fuzz.data import Random
from tests.fuzz.operators import control
from tests.fuzz.sketch import Sketch, Unfit

OPSETS = {"": 17}


@pytest.mark.slow
@pytest.mark.parametrize("family", [control.if_, control.loop, control.scan])
def test_what_onnx_runtime_gives(family) -> None:
    compared = 0
    for seed in range(12):
        sketch = Sketch(Random(seed, 9), 17)
        with contextlib.suppress(Unfit):
            family(sketch)
        for node in sketch.nodes:
            try:
                pair = [f(node, sketch.opsets, sketch.values)
                        for f in (evaluate.by_ort, evaluate.by_reference)]  # fmt: skip
            except evaluate.Refused as refusal:
                assert refusal.missing, refusal
                continue
            for want, found in zip(*pair, strict=True):
                assert found.shape == want.shape
                np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)
            compared += 1
    assert compared > 5


def body(rank: int, heads: int) -> onnx.GraphProto:
    """Doubles its state; gives what it was as a row, and its condition."""
    port = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Add", ["s", "r" if heads == 0 else "s"], ["s1"]),
        helper.make_node("Identity", ["s"], ["y"]),
        helper.make_node("Identity", ["c"], ["c1"]),
    ]
    state = [port("s", TensorProto.FLOAT, [None] * rank)]
    if heads == 0:
        ins, outs = [*state, port("r", TensorProto.FLOAT, [None] * rank)], ["s1", "y"]
        nodes = nodes[:2]
    else:
        ins = [port("i", TensorProto.INT64, []), port("c", TensorProto.BOOL, []), *state]
        outs = ["c1", "s1", "y"]
    results = [helper.make_empty_tensor_value_info(n) for n in outs]
    return helper.make_graph(nodes, "body", ins, results)


@pytest.mark.parametrize(("count", "going", "rows"), [(3, None, 3), (0, None, 0), (2, False, 0)])
def test_rows_of_a_loop_are_stacked(count: int, going: bool | None, rows: int) -> None:
    condition = "" if going is None else "go"
    node = helper.make_node("Loop", ["m", condition, "x"], ["s", "ys"], body=body(2, 2))
    x = np.ones((1, 2), np.float32)
    arrays = {"m": np.array(count), "go": np.array(going is not False), "x": x}
    state, stacked = evaluate.by_reference(node, OPSETS, arrays)
    assert stacked.shape == (rows, 1, 2)
    np.testing.assert_array_equal(state, x * 2**rows)
    np.testing.assert_array_equal(stacked[:, 0, 0], 2.0 ** np.arange(rows))


def test_scan_of_no_rows_leaves_its_state() -> None:
    node = helper.make_node(
        "Scan", ["x", "xs"], ["s", "ys"], body=body(1, 0), num_scan_inputs=1, scan_input_axes=[1],
        scan_input_directions=[1], scan_output_axes=[1],
    )  # fmt: skip
    arrays = {"x": np.ones(3, np.float32), "xs": np.ones((3, 0), np.float32)}
    state, rows = evaluate.by_reference(node, OPSETS, arrays)
    np.testing.assert_array_equal(state, arrays["x"])
    assert rows.shape == (3, 0)
    with pytest.raises(evaluate.Refused):
        evaluate.by_ort(node, OPSETS, arrays)


def test_loop_that_does_not_end_is_nobodys() -> None:
    node = helper.make_node("Loop", ["", "go", "x"], ["s", "ys"], body=body(1, 2))
    with pytest.raises(evaluate.Refused) as caught:
        evaluate.by_reference(node, OPSETS, {"go": np.array(True), "x": np.ones(1, np.float32)})
    assert caught.value.missing


@pytest.mark.parametrize(
    ("op", "lists"),
    [("SequenceAt", True), ("OptionalGetElement", True), ("ReverseSequence", False)],
)
def test_bodies_of_tensors_are_evaluated_node_by_node(op: str, lists: bool) -> None:
    """Else nothing in them is moved as far as rounding may do it."""
    made = helper.make_node(op, ["x", "n"], ["y"])
    branch = helper.make_graph([made], "branch", [], [helper.make_empty_tensor_value_info("y")])
    node = helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch)
    assert has_lists(node) == lists
