"""ai.onnx.ml::TreeEnsemble (opset 5)."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

import numpy as np

from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.scores import POST_TRANSFORMS, transformed
from ..common.trees import MODES, Forest, scores

_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_MEMBER = len(MODES)
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
assert sorted(_TRANSFORMS) == sorted(POST_TRANSFORMS)


class TreeEnsemble(OnnxOp):
    """All trees descend level by level together; a set is a chain of comparisons."""

    def convert(self, ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
        total = scores(
            ctx,
            inputs[0],
            _forest(attrs),
            attrs.get("n_targets", 1),
            [],
            _AGGREGATES[attrs.get("aggregate_function", 1)],
        )
        return transformed(ctx, total, _TRANSFORMS[attrs.get("post_transform", 0)])


def _forest(attrs: Attrs) -> Forest:
    result = Forest()
    modes = np.asarray(attrs["nodes_modes"]).tolist()
    splits = np.asarray(attrs["nodes_splits"]).tolist()
    members = _members(attrs, modes)
    missing = attrs.get("nodes_missing_value_tracks_true") or [0] * len(modes)
    weights = np.asarray(attrs["leaf_weights"]).tolist()
    leaves = [result.leaf([vote]) for vote in zip(attrs["leaf_targetids"], weights, strict=True)]
    chains = []
    for k, mode in enumerate(modes):
        values = members[k] if mode == _MEMBER else [splits[k]]
        feature = attrs["nodes_featureids"][k]
        chains.append([result.node(feature, value) for value in values])
    names = list(MODES)
    for k, (mode, chain) in enumerate(zip(modes, chains, strict=True)):
        yes, no = (
            leaves[attrs[f"nodes_{side}nodeids"][k]]
            if attrs[f"nodes_{side}leafs"][k]
            else chains[attrs[f"nodes_{side}nodeids"][k]][0]
            for side in ("true", "false")
        )
        name = "BRANCH_EQ" if mode == _MEMBER else names[mode]
        for node, following in zip(chain, [*chain[1:], no], strict=True):
            result.branch(node, name, bool(missing[k]), yes, following)
    result.roots = [chains[root][0] for root in attrs["tree_roots"]]
    return result


def _members(attrs: Attrs, modes: list[int]) -> dict[int, list[float]]:
    """The sets, each ended by NaN, in the order of the nodes that ask for them.

    An empty set has one member that nothing equals.
    """
    values = iter(np.asarray(attrs.get("membership_values", [])).tolist())
    found = {}
    for k, mode in enumerate(modes):
        if mode == _MEMBER:
            found[k] = _until_nan(values)
    return found


def _until_nan(values: Iterator[float]) -> list[float]:
    found: list[float] = []
    for value in values:
        if isnan(value):
            break
        found.append(value)
    return found or [float("nan")]
