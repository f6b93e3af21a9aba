"""What ONNX's text says nothing of is anybody's; what stands beside it is not."""

from __future__ import annotations

import numpy as np
from onnx import helper

from tests.fuzz import unsaid
from tests.fuzz.test_faults import node


def test_the_mean_of_no_losses_is_undefined() -> None:
    for reduction in ("mean", "sum"):
        made = node("NegativeLogLikelihoodLoss", "x t", reduction=reduction)
        values = {"x": np.zeros((2, 3, 0), np.float32), "t": np.zeros((2, 0), np.int64)}
        assert bool(unsaid.undefined(made, values)) == (reduction == "mean")


def test_the_mean_of_none_is_undefined() -> None:
    made = node("ReduceMean", "x")
    empty, one = np.zeros((0, 2), np.float32), np.zeros((1, 2), np.float32)
    assert unsaid.undefined(made, {"x": empty}) and not unsaid.undefined(made, {"x": one})


def test_what_is_no_number_has_no_rank_and_no_weight() -> None:
    boxes, scores = np.zeros((1, 2, 4), np.float32), np.zeros((1, 1, 2), np.float32)
    made, holed = node("NonMaxSuppression", "b s"), np.full_like(scores, np.nan)
    assert unsaid.undefined(made, {"b": boxes, "s": holed})
    assert not unsaid.undefined(made, {"b": boxes, "s": scores})
    made, rows = node("RoiAlign", "x r i"), {"r": boxes[0], "i": np.zeros(2, np.int64)}
    image = np.zeros((1, 1, 2, 2), np.float32)
    assert not unsaid.undefined(made, {"x": image, **rows})
    image[0, 0, 0, 0] = np.inf
    assert unsaid.undefined(made, {"x": image, **rows})


def test_a_query_that_sees_no_key_is_blind() -> None:
    names = ["q", "k", "v", "", "m"]
    made = helper.make_node("MultiHeadAttention", names, ["y"], domain="com.microsoft", num_heads=1)
    causal = helper.make_node(
        "MultiHeadAttention", names, ["y"], domain="com.microsoft", num_heads=1, unidirectional=1
    )
    for mask, plain, later in (
        ([2, 0], [0, 1], [0, 1]),
        ([2, 3, 0, 1], [0, 0], [0, 1]),
        ([[1, 0, 0], [0, 0, 1]], [0, 0], [0, 1]),
        ([[0, 0, 0], [1, 1, 1]], [1, 0], [1, 0]),
        ([[0, -5, 0], [-1, 1, 1]], [1, 0], [1, 1]),
    ):
        values = {"q": np.zeros((2, 3, 4)), "m": np.array(mask, np.int32)}
        assert unsaid.blind(made, values).tolist() == plain
        assert unsaid.blind(causal, values).tolist() == later
