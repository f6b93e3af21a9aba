"""The attributes of TreeEnsembleClassifier and TreeEnsembleRegressor as a `Forest`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from .context import Attrs, Context
from .trees import CYCLE, MODES, Forest


def forest(ctx: Context, attrs: Attrs, prefix: str, ids: str) -> Forest:
    """Read the attributes; ``prefix`` is ``class`` or ``target``, ``ids`` its column attribute."""
    keys = list(zip(attrs["nodes_treeids"], attrs["nodes_nodeids"], strict=True))
    index = {key: i for i, key in enumerate(keys)}
    modes = attrs["nodes_modes"]
    unknown = sorted(set(modes) - {"LEAF", *MODES})
    if unknown:
        raise ctx.unsupported(f"nodes of modes {unknown}", f"use {', '.join(MODES)}")
    votes: dict[tuple[int, int], list[tuple[int, float]]] = defaultdict(list)
    weights = reals(attrs, f"{prefix}_weights")
    columns = (attrs[f"{prefix}_treeids"], attrs[f"{prefix}_nodeids"], attrs[ids], weights)
    for tree, node, column, weight in zip(*columns, strict=True):
        votes[tree, node].append((column, weight))
    missing = attrs.get("nodes_missing_value_tracks_true") or [0] * len(keys)
    thresholds, result = reals(attrs, "nodes_values"), Forest()
    for i, key in enumerate(keys):
        if modes[i] == "LEAF":
            result.leaf(votes[key])
        else:
            result.node(attrs["nodes_featureids"][i], thresholds[i])
    children = set()
    for i, (tree, _) in enumerate(keys):
        if modes[i] != "LEAF":
            yes = index[tree, attrs["nodes_truenodeids"][i]]
            no = index[tree, attrs["nodes_falsenodeids"][i]]
            children |= {yes, no}
            result.branch(i, modes[i], bool(missing[i]), yes, no)
    # Of several nodes of a tree that none leads to, the first one: the others are never reached.
    roots: dict[int, int] = {}
    for i, (tree, _) in enumerate(keys):
        if i not in children:
            roots.setdefault(tree, i)
    result.roots = list(roots.values())
    if len(roots) != len({tree for tree, _ in keys}):
        raise ctx.ill_typed(CYCLE)
    return result


def reals(attrs: Attrs, name: str) -> Sequence[float]:
    """A list of floats, which may be a tensor of doubles instead."""
    tensor = attrs.get(f"{name}_as_tensor")
    return [float(v) for v in (attrs.get(name, ()) if tensor is None else np.asarray(tensor))]
