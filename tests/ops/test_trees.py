"""Tree ensembles against ONNX Runtime."""

import numpy as np
import pytest
from onnx import numpy_helper

from tests.ops.cases import check_node, node_model, rand
from tvm_megcc.errors import MegccError
from tvm_megcc.frontend import from_onnx


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


@pytest.mark.parametrize(
    "kept", [lambda k: k % 3 == 0, lambda k: k % 4 != 1, lambda k: k in (1, 5)]
)
def test_a_class_that_no_leaf_votes_for_is_no_label(kept):
    """All scores are negative; that of a class without votes is 0."""
    attrs = trees("class", "ids", 3)
    columns = [f"class_{key}" for key in ("treeids", "nodeids", "weights", "ids")]
    for name in columns:
        attrs[name] = [v for k, v in enumerate(attrs[name]) if kept(k)]
    attrs["class_weights"] = [-abs(v) for v in attrs["class_weights"]]
    attrs["classlabels_int64s"] = [3, 5, 7]
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


def stump(**changed):
    """Attributes of one tree of one level, in which node 3 is reached by none."""
    attrs = dict(
        nodes_treeids=[0] * 4, nodes_nodeids=[0, 1, 2, 3], nodes_featureids=[1, 0, 0, 0],
        nodes_values=[0.5, 0.0, 0.0, 0.0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF", "LEAF"],
        nodes_truenodeids=[1, 0, 0, 0], nodes_falsenodeids=[2, 0, 0, 0], n_targets=1,
        target_treeids=[0, 0, 0], target_nodeids=[1, 2, 3], target_ids=[0, 0, 0],
        target_weights=[1.0, 2.0, 4.0],
    )  # fmt: skip
    return attrs | changed


def test_a_leaf_that_no_node_leads_to():
    check_node("TreeEnsembleRegressor", [rand(6, 4)], domain="ai.onnx.ml", **stump())


@pytest.mark.parametrize(
    ("changed", "fact"),
    [({"nodes_truenodeids": [0, 0, 0, 0], "nodes_modes": ["BRANCH_LEQ"] + ["BRANCH_LT"] * 3},
      "leads back to itself"),
     ({"nodes_featureids": [-1, 0, 0, 0]}, "feature -1 of 4"),
     ({"nodes_featureids": [4, 0, 0, 0]}, "feature 4 of 4"),
     ({"target_ids": [0, -1, 0]}, "weights for -1 of 1 targets")],
)  # fmt: skip
def test_trees_that_are_none(changed, fact):
    proto, _ = node_model(
        "TreeEnsembleRegressor", [rand(6, 4)], 17, domain="ai.onnx.ml", **stump(**changed)
    )
    with pytest.raises(MegccError, match=fact):
        from_onnx(proto)


def test_trees_of_opset_5_that_have_no_leaf():
    def tensor(values, dtype="f4"):
        return numpy_helper.from_array(np.array(values, dtype), "")

    attrs = dict(
        n_targets=1, tree_roots=[0], nodes_modes=tensor([0, 0], "u1"), nodes_featureids=[0, 0],
        nodes_splits=tensor([0.5, 0.2]), nodes_truenodeids=[1, 0], nodes_trueleafs=[0, 0],
        nodes_falsenodeids=[0, 0], nodes_falseleafs=[1, 1], leaf_targetids=[0],
        leaf_weights=tensor([1.0]),
    )  # fmt: skip
    proto, _ = node_model("TreeEnsemble", [rand(6, 1)], 17, domain="ai.onnx.ml", **attrs)
    proto.opset_import[1].version = 5
    with pytest.raises(MegccError, match="leads back to itself"):
        from_onnx(proto)
