"""Operators of ai.onnx.ml: of numbers."""

from __future__ import annotations

import numpy as np

from tests.fuzz.data import F32, F64, I32, I64
from tests.fuzz.operators._common import often
from tests.fuzz.sketch import Sketch

_DOMAIN = "ai.onnx.ml"
_POST = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")


def _numbers(s: Sketch, count: int) -> list[float]:
    return [float(v) for v in s.rng.bits.normal(size=count).astype(np.float32)]


def _table(s: Sketch, dtypes=(F32, F32, F64, I64, I32)) -> str:
    return s.data(dtypes, rank=2, fits=lambda a: 0 not in a.shape, tame=True,
                  shape=lambda: (s.rng.between(1, 5), s.rng.between(1, 5)))  # fmt: skip


@often(3)
def columns(s: Sketch) -> None:
    """What treats each column, or each element, by itself."""
    op = s.rng.one(("Binarizer", "Scaler", "Imputer", "Normalizer", "ArrayFeatureExtractor",
                    "FeatureVectorizer", "OneHotEncoder", "LabelEncoder"))  # fmt: skip
    x = _table(s)
    rows, width = s.shape_of(x)
    dtype = s.dtype_of(x)
    attrs: dict[str, object] = {}
    operands = [x]
    version = 1
    if op == "Binarizer":
        attrs["threshold"] = s.rng.one((None, 0.5, -1.0))
    elif op == "Scaler":
        for name in s.rng.some(("offset", "scale"), 1):
            attrs[name] = _numbers(s, s.rng.one((1, width)))
    elif op == "Imputer":
        count = s.rng.one((1, width))
        if dtype.kind == "f":
            attrs["imputed_value_floats"] = _numbers(s, count)
            attrs["replaced_value_float"] = s.rng.one((float("nan"), 0.0, 1.0))
        else:
            attrs["imputed_value_int64s"] = [s.rng.between(-3, 3) for _ in range(count)]
            attrs["replaced_value_int64"] = s.rng.between(-1, 1)
    elif op == "Normalizer":
        attrs["norm"] = s.rng.one((None, "MAX", "L1", "L2"))
    elif op == "ArrayFeatureExtractor":
        places = s.rng.bits.integers(0, width, s.rng.between(1, 4))
        operands.append(s.give(places, 0.5))
    elif op == "FeatureVectorizer":
        operands = [x, *(s.give(s.rng.array(dtype, (rows, s.rng.between(1, 3)), tame=True))
                         for _ in range(s.rng.below(3)))]  # fmt: skip
        attrs["inputdimensions"] = [s.shape_of(name)[1] for name in operands]
    elif op == "OneHotEncoder":
        attrs["cats_int64s"] = [*range(-2, s.rng.between(0, 3)), *s.rng.some((-1, 0, 4))]
        attrs["zeros"] = s.rng.one((None, 1))
    else:
        version = 2
        keys = [int(v) for v in s.rng.bits.permutation(np.arange(-4, 5))[: s.rng.between(1, 5)]]
        kind = "floats" if dtype == F32 else "int64s"
        attrs[f"keys_{kind}"] = [float(k) for k in keys] if kind == "floats" else keys
        if s.rng.chance(0.5):
            attrs["values_floats"] = _numbers(s, len(keys))
            attrs["default_float"] = s.rng.one((None, 0.5))
        else:
            attrs["values_int64s"] = [s.rng.between(-9, 9) for _ in keys]
            attrs["default_int64"] = s.rng.one((None, 7))
    s.node(op, operands, domain=_DOMAIN, version=version, **attrs)


@often(2)
def linear_models(s: Sketch) -> None:
    x = _table(s, (F32,))
    width = s.shape_of(x)[1]
    post = s.rng.one((None, *_POST))
    if s.rng.chance(0.5):
        targets = s.rng.between(1, 3)
        shift = _numbers(s, targets) if s.rng.chance(0.6) else None
        s.node("LinearRegressor", [x], domain=_DOMAIN, targets=targets, intercepts=shift,
               coefficients=_numbers(s, targets * width),
               post_transform=None if post != "NONE" else post)  # fmt: skip
        return
    classes = s.rng.between(2, 4)
    s.node("LinearClassifier", [x], 2, domain=_DOMAIN, coefficients=_numbers(s, classes * width),
           intercepts=_numbers(s, classes), post_transform=post,
           classlabels_ints=[int(v) for v in s.rng.bits.permutation(9)[:classes]])  # fmt: skip


@often(2)
def support_vectors(s: Sketch) -> None:
    x = _table(s, (F32,))
    width = s.shape_of(x)[1]
    kind = s.rng.one(("LINEAR", "POLY", "RBF", "SIGMOID"))
    numbers = [0.5, 0.25, 2.0]
    if s.rng.chance(0.5):
        count = s.rng.between(1, 4)
        one = s.rng.one((None, 0, 1))
        s.node("SVMRegressor", [x], domain=_DOMAIN, coefficients=_numbers(s, count), one_class=one,
               support_vectors=_numbers(s, count * width), n_supports=count, rho=_numbers(s, 1),
               kernel_type=kind, kernel_params=numbers)  # fmt: skip
        return
    classes = s.rng.between(2, 3)
    counts = [s.rng.between(1, 2) for _ in range(classes)]
    pairs = classes * (classes - 1) // 2
    odds = {}
    if s.rng.chance(0.4):
        odds = {"prob_a": _numbers(s, pairs), "prob_b": _numbers(s, pairs)}
    s.node("SVMClassifier", [x], 2, domain=_DOMAIN, kernel_type=kind, kernel_params=numbers,
           support_vectors=_numbers(s, sum(counts) * width), vectors_per_class=counts,
           coefficients=_numbers(s, (classes - 1) * sum(counts)), rho=_numbers(s, pairs),
           classlabels_ints=list(range(classes)), post_transform=s.rng.one((None, *_POST)),
           **odds)  # fmt: skip


@often(2)
def forest(s: Sketch) -> None:
    """Trees as of opset 5, also with sets of members, and those of a classifier."""
    x = _table(s, (F32,))
    width = s.shape_of(x)[1]
    trees = s.rng.between(1, 3)
    if s.rng.chance(0.5):
        _classifier(s, x, width, trees)
        return
    modes = s.rng.bits.integers(0, 6, trees).astype(np.uint8)
    leaves = 2 * trees
    s.node(
        "TreeEnsemble", [x], domain=_DOMAIN, version=5, n_targets=s.rng.between(1, 2),
        aggregate_function=s.rng.one((None, 0, 1, 2, 3)), post_transform=s.rng.one((None, 0)),
        tree_roots=list(range(trees)), nodes_modes=_tensor(modes),
        nodes_featureids=[s.rng.below(width) for _ in range(trees)],
        nodes_splits=_tensor(s.rng.bits.normal(size=trees).astype(np.float32)),
        nodes_truenodeids=[2 * k for k in range(trees)], nodes_trueleafs=[1] * trees,
        nodes_falsenodeids=[2 * k + 1 for k in range(trees)], nodes_falseleafs=[1] * trees,
        nodes_missing_value_tracks_true=[s.rng.below(2) for _ in range(trees)],
        leaf_targetids=[0] * leaves,
        leaf_weights=_tensor(s.rng.bits.normal(size=leaves).astype(np.float32)),
    )  # fmt: skip


def _tensor(array: np.ndarray):
    from onnx import numpy_helper

    return numpy_helper.from_array(array, "")


def _classifier(s: Sketch, x: str, width: int, trees: int) -> None:
    classes = s.rng.one((1, 2, 2, 3))
    named = s.rng.one(([0], [classes - 1], range(classes), range(classes), range(classes)))
    attrs: dict[str, list] = {key: [] for key in (
        "nodes_treeids nodes_nodeids nodes_featureids nodes_values nodes_modes nodes_truenodeids "
        "nodes_falsenodeids nodes_missing_value_tracks_true class_treeids class_nodeids class_ids "
        "class_weights"
    ).split()}  # fmt: skip
    for tree in range(trees):
        for number in range(3):
            leaf = number > 0
            attrs["nodes_treeids"].append(tree)
            attrs["nodes_nodeids"].append(number)
            attrs["nodes_featureids"].append(0 if leaf else s.rng.below(width))
            attrs["nodes_values"].append(0.0 if leaf else _numbers(s, 1)[0])
            attrs["nodes_modes"].append("LEAF" if leaf else "BRANCH_LEQ")
            attrs["nodes_truenodeids"].append(0 if leaf else 1)
            attrs["nodes_falsenodeids"].append(0 if leaf else 2)
            attrs["nodes_missing_value_tracks_true"].append(s.rng.below(2))
            for label in named if leaf else ():
                attrs["class_treeids"].append(tree)
                attrs["class_nodeids"].append(number)
                attrs["class_ids"].append(label)
                attrs["class_weights"].append(_numbers(s, 1)[0])
    if s.rng.chance(0.3):
        attrs["base_values"] = _numbers(s, classes)
    s.node("TreeEnsembleClassifier", [x], 2, domain=_DOMAIN, version=3,
           classlabels_int64s=[int(v) for v in s.rng.bits.permutation(9)[:classes]],
           post_transform=s.rng.one((None, *_POST)), **attrs)  # fmt: skip
