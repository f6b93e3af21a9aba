"""Tree ensembles (ai.onnx.ml) as tables that all trees walk at once, one level per step.

A leaf is a node whose branches lead to itself, so that after as many steps as the deepest tree has
levels every walk has ended at its leaf.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import relax

from . import Attrs, Context, Inputs

#: Comparison of a feature with the threshold that leads to the "true" branch.
_COMPARE = {
    "BRANCH_LEQ": relax.op.less_equal,
    "BRANCH_LT": relax.op.less,
    "BRANCH_GTE": relax.op.greater_equal,
    "BRANCH_GT": relax.op.greater,
    "BRANCH_EQ": relax.op.equal,
    "BRANCH_NEQ": relax.op.not_equal,
}


@dataclass(frozen=True, slots=True)
class Forest:
    """Per node: feature, threshold, successors, what it adds to the outputs; per tree: its root."""

    roots: np.ndarray
    features: np.ndarray
    thresholds: np.ndarray
    yes: np.ndarray
    no: np.ndarray
    weights: np.ndarray
    depth: int
    mode: str


def forest(ctx: Context, attrs: Attrs, outputs: int, prefix: str, ids: str) -> Forest:
    """Read the attributes; ``prefix`` is ``class`` or ``target``, ``ids`` its column attribute."""
    keys = list(zip(attrs["nodes_treeids"], attrs["nodes_nodeids"], strict=True))
    index = {key: i for i, key in enumerate(keys)}
    modes = attrs["nodes_modes"]
    kinds = sorted({mode for mode in modes if mode != "LEAF"})
    if len(kinds) > 1 or any(attrs.get("nodes_missing_value_tracks_true", [])):
        raise ctx.unsupported(
            f"nodes of modes {kinds} or with missing values tracked", "train with one comparison"
        )
    yes, no = np.arange(len(keys)), np.arange(len(keys))
    for i, (tree, _) in enumerate(keys):
        if modes[i] != "LEAF":
            yes[i] = index[tree, attrs["nodes_truenodeids"][i]]
            no[i] = index[tree, attrs["nodes_falsenodeids"][i]]
    weights = np.zeros((len(keys), outputs), np.float32)
    rows = zip(
        attrs[f"{prefix}_treeids"],
        attrs[f"{prefix}_nodeids"],
        attrs[ids],
        attrs[f"{prefix}_weights"],
        strict=True,
    )
    for tree, node, column, weight in rows:
        weights[index[tree, node], column] += np.float32(weight)
    children = {int(j) for i in range(len(keys)) for j in (yes[i], no[i]) if j != i}
    roots = np.array([i for i in range(len(keys)) if i not in children])
    features = np.array(attrs["nodes_featureids"])
    return Forest(
        roots,
        np.where(yes == np.arange(len(keys)), 0, features),
        np.array(attrs["nodes_values"], np.float32),
        yes,
        no,
        weights,
        _depth(roots, yes, no),
        kinds[0] if kinds else "BRANCH_LEQ",
    )


def _depth(roots: np.ndarray, yes: np.ndarray, no: np.ndarray) -> int:
    level, depth = set(roots.tolist()), 0
    while True:
        level = {int(j) for i in level for j in (yes[i], no[i]) if j != i}
        if not level:
            return depth
        depth += 1


def scores(
    ctx: Context, inputs: Inputs, trees: Forest, base: list[float], aggregate: str = "SUM"
) -> relax.Expr:
    """``[rows, outputs]``: the leaves' weights, summed over the trees, plus the base values."""
    data = inputs[0]
    if inputs.dtype(0) != "float32":
        data = ctx.emit(relax.op.astype(data, "float32"))
    rows = inputs.static_shape(0)[0]
    start = np.broadcast_to(trees.roots, (rows, len(trees.roots)))
    at = ctx.const(start, "int64")
    for _ in range(trees.depth):
        feature = _lookup(ctx, trees.features, at, "int64")
        value = ctx.emit(relax.op.gather_elements(data, feature, 1))
        threshold = _lookup(ctx, trees.thresholds, at, "float32")
        taken = _COMPARE[trees.mode](value, threshold)
        following = _lookup(ctx, trees.yes, at, "int64"), _lookup(ctx, trees.no, at, "int64")
        at = ctx.emit(relax.op.where(ctx.emit(taken), *following))
    leaves = ctx.emit(relax.op.take(ctx.const(trees.weights, "float32"), at, 0, "clip"))
    reduce = {"SUM": relax.op.sum, "AVERAGE": relax.op.mean, "MIN": relax.op.min,
              "MAX": relax.op.max}[aggregate]  # fmt: skip
    total = ctx.emit(reduce(leaves, 1))
    if not any(base):
        return total
    return ctx.emit(relax.op.add(total, ctx.const(np.array(base)[None], "float32")))


def _lookup(ctx: Context, table: np.ndarray, at: relax.Expr, dtype: str) -> relax.Expr:
    return ctx.emit(relax.op.take(ctx.const(table, dtype), at, 0, "clip"))


def transformed(ctx: Context, x: relax.Expr, name: str) -> relax.Expr:
    """The attribute ``post_transform``."""
    if name == "NONE":
        return x
    if name == "LOGISTIC":
        return relax.op.sigmoid(x)
    if name == "SOFTMAX":
        return relax.op.nn.softmax(x, -1)
    raise ctx.unsupported(f"post_transform '{name}'", "use NONE, LOGISTIC or SOFTMAX")
