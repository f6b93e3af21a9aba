"""Tree ensembles against ONNX Runtime."""

import numpy as np
import pytest

from tests.ops.cases import check_node, rand


def trees(prefix, ids, columns, seed=0, count=3):
    """Attributes of random trees of two levels with one leaf that comes early."""
    rng = np.random.default_rng(seed)
    nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes",
                                 "truenodeids", "falsenodeids")}  # fmt: skip
    leaves = {"treeids": [], "nodeids": [], "weights": [], ids: []}
    layout = [(1, 2), (3, 4), None, None, None]
    for tree in range(count):
        for node, children in enumerate(layout):
            row = (tree, node, int(rng.integers(4)), float(rng.normal() / 2),
                   "BRANCH_LEQ" if children else "LEAF", *(children or (0, 0)))  # fmt: skip
            for column, value in zip(nodes.values(), row, strict=True):
                column.append(value)
            if children is None:
                for target in range(columns):
                    leaves["treeids"].append(tree)
                    leaves["nodeids"].append(node)
                    leaves["weights"].append(float(rng.normal()))
                    leaves[ids].append(target)
    attrs = {f"nodes_{key}": value for key, value in nodes.items()}
    return attrs | {f"{prefix}_{key}": value for key, value in leaves.items()}


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_classifier(post):
    attrs = trees("class", "ids", 3)
    attrs |= {"classlabels_int64s": [0, 5, 7], "post_transform": post}
    check_node("TreeEnsembleClassifier", [rand(6, 4)], domain="ai.onnx.ml", outputs=2, **attrs)


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC"])
def test_binary_classifier(post):
    attrs = trees("class", "ids", 1)
    attrs |= {"classlabels_int64s": [0, 1], "post_transform": post}
    check_node("TreeEnsembleClassifier", [rand(6, 4)], domain="ai.onnx.ml", outputs=2, **attrs)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regressor(aggregate):
    attrs = trees("target", "ids", 2)
    attrs |= {"n_targets": 2, "aggregate_function": aggregate, "base_values": [0.5, -0.5]}
    check_node("TreeEnsembleRegressor", [rand(6, 4)], domain="ai.onnx.ml", **attrs)
