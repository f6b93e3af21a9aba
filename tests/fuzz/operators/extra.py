"""Operators of other domains, and late ones."""

from __future__ import annotations

import numpy as np

from tests.fuzz.data import F32
from tests.fuzz.operators._common import often
from tests.fuzz.sketch import Sketch


def fused_conv(s: Sketch) -> None:
    c, out = s.rng.between(1, 4), s.rng.between(1, 4)
    x = s.give(s.rng.array(F32, (1, c, s.rng.between(3, 6), s.rng.between(3, 6)), tame=True), 0.9)
    w = s.give(s.rng.array(F32, (out, c, 3, 3), tame=True), 0.1)
    b = s.give(s.rng.array(F32, (out,), tame=True), 0.1)
    # Only what ONNX Runtime itself computes exactly: nothing else evaluates this operator.
    kind = s.rng.one(("Relu", "LeakyRelu"))
    numbers = [0.25] if kind == "LeakyRelu" else None
    s.node("FusedConv", [x, w, b], domain="com.microsoft", activation=kind,
           activation_params=numbers, pads=s.rng.one((None, [1, 1, 1, 1])))  # fmt: skip


@often(2)
def tree_ensemble(s: Sketch) -> None:
    """Two stumps over two of the columns."""
    columns = s.rng.between(1, 4)
    x = s.data((F32,), rank=2, fits=lambda a: a.shape[1] >= columns and 0 not in a.shape,
               shape=lambda: (s.rng.between(1, 5), columns))  # fmt: skip
    trees = s.rng.between(1, 3)
    attrs: dict[str, list] = {key: [] for key in (
        "nodes_treeids nodes_nodeids nodes_featureids nodes_values nodes_modes nodes_truenodeids "
        "nodes_falsenodeids nodes_missing_value_tracks_true target_treeids target_nodeids "
        "target_ids target_weights"
    ).split()}  # fmt: skip
    targets = s.rng.between(1, 2)
    for tree in range(trees):
        mode = s.rng.one(
            ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE", "BRANCH_EQ", "BRANCH_NEQ")
        )
        for number in range(3):
            leaf = number > 0
            attrs["nodes_treeids"].append(tree)
            attrs["nodes_nodeids"].append(number)
            attrs["nodes_featureids"].append(0 if leaf else s.rng.below(columns))
            attrs["nodes_values"].append(0.0 if leaf else float(np.float32(s.rng.bits.normal())))
            attrs["nodes_modes"].append("LEAF" if leaf else mode)
            attrs["nodes_truenodeids"].append(0 if leaf else 1)
            attrs["nodes_falsenodeids"].append(0 if leaf else 2)
            attrs["nodes_missing_value_tracks_true"].append(s.rng.below(2))
            if leaf:
                attrs["target_treeids"].append(tree)
                attrs["target_nodeids"].append(number)
                attrs["target_ids"].append(s.rng.below(targets))
                attrs["target_weights"].append(float(np.float32(s.rng.bits.normal())))
    if s.rng.chance(0.3):
        attrs["base_values"] = [float(v) for v in s.rng.array(F32, (targets,), tame=True)]
    s.node(
        "TreeEnsembleRegressor", [x], domain="ai.onnx.ml", version=3, n_targets=targets,
        aggregate_function=s.rng.one((None, "SUM", "AVERAGE", "MIN", "MAX")),
        post_transform=s.rng.one((None, "NONE")), **attrs,
    )  # fmt: skip


def swish(s: Sketch) -> None:
    if s.opset >= 24:
        s.node("Swish", [s.data((F32,))], alpha=s.rng.one((None, 1.0, 0.5)))
