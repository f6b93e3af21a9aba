"""The models of ai.onnx.ml through compiled packages."""

from dataclasses import replace

import numpy as np
import pytest
from onnx import numpy_helper

from tests.ops.cases import node_model, rand
from tests.ops.test_trees import trees
from tests.ops.together import Case, Open, check_together, right_answer
from tvm_megcc import importers
from tvm_megcc.errors import UnsupportedError

X = rand(6, 4)
OPEN = Open(X, ["rows", 4])
POSTS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]
#: Rows whose scores are infinite, and NaN.
FAR = np.array([[a, b, 1, 2] for a in (np.inf, -np.inf) for b in (1, np.inf, np.nan)], "f4")
#: Numbers in [0, 1], for which PROBIT has a value.
SHARES = np.random.default_rng(3).random((5, 4)).astype("float32")


def ml(op, operands, opset=1, outputs=1, by="onnxruntime", **attrs):
    return Case(op, operands, attrs, opset, "ai.onnx.ml", outputs, by)


@pytest.mark.parametrize(
    "shape, wanted",
    [((5,), (1, 2)), ((3, 5), (3, 2)), ((3, 2, 5), (3, 2, 2)), ((7, 1, 6), (7, 1, 2))],
)
def test_features_are_of_the_last_axis(shape, wanted):
    operands = [rand(*shape), np.array([[4, 0]])]
    found = importers.import_model(
        node_model("ArrayFeatureExtractor", operands, 1, domain="ai.onnx.ml")[0]
    )
    assert found.outputs[0].shape == wanted


@pytest.mark.slow
def test_features(tmp_path):
    whole, places = rand(3, 4, dtype="int64"), np.array([[2, 0]])
    cases = [ml("ArrayFeatureExtractor", [data, places]) for data in (X, X[0], whole)]
    cases += [ml("Binarizer", [OPEN], threshold=0.1)]
    cases += [ml("Normalizer", [data], norm=norm) for norm in ("MAX", "L1", "L2")
              for data in (X, whole)]  # fmt: skip
    large = np.array([[2**63 - 1, -(2**62), 2**62 + 1, -(2**63) + 1, 2**60]])
    share = large / np.sqrt(np.sum(large.astype("float64") ** 2))
    cases += [replace(ml("Normalizer", [data], norm="L2"), want=[share.astype("float32")])
              for data in (large, large.astype("float64"))]  # fmt: skip
    cases += [ml("Scaler", [OPEN], offset=[1.0, 2, 3, 4], scale=[0.5, 1, 2, 4])]
    cases += [ml("Scaler", [whole], offset=[1.0], scale=[0.5])]
    holes = X.copy()
    holes[1, 2] = np.nan
    cases += [ml("Imputer", [holes], imputed_value_floats=[1.0, 2, 3, 4],
                 replaced_value_float=float("nan"))]  # fmt: skip
    cases += [ml("Imputer", [whole], imputed_value_int64s=[7], replaced_value_int64=whole[0, 0])]
    cases += [ml("OneHotEncoder", [data], cats_int64s=[0, 3, -1]) for data in (X, whole[0])]
    cases += [ml("OneHotEncoder", [whole[0] % 3], cats_int64s=[2, 0, 2, 1])]
    cases += [ml("FeatureVectorizer", [X, rand(6, 3)], inputdimensions=[3, 5])]
    check_together(cases, tmp_path)


@pytest.mark.parametrize(
    ("op", "attrs"),
    [("Scaler", dict(offset=[1.0, 2.0], scale=[1.0])),
     ("Scaler", dict(offset=[1.0], scale=[1.0, 2.0])),
     ("Imputer", dict(imputed_value_floats=[1.0, 2.0]))],
)  # fmt: skip
@pytest.mark.parametrize("columns", [1, 3])
def test_numbers_for_other_columns_are_refused(op, attrs, columns):
    """Of one column they made two."""
    model, _ = node_model(op, [rand(4, columns)], 17, domain="ai.onnx.ml", **attrs)
    with pytest.raises(UnsupportedError, match=f"{op} 'node': dim 1 is {columns}, and 2 as its "):
        importers.import_model(model)


@pytest.mark.slow
def test_labels(tmp_path):
    numbers = np.array([[3, 1], [4, -7]])
    cases = [ml("LabelEncoder", [numbers], 2, keys_int64s=[1, 3, 4], values_floats=[0.5, 1, 2])]
    cases += [ml("LabelEncoder", [numbers.astype("float32")], 2, keys_floats=[1.0, 3],
                 values_int64s=[9, 8], default_int64=5)]  # fmt: skip
    for keys, values in (("int32", "int16"), ("float64", "float32"), ("int16", "float64")):
        tensors = dict(keys_tensor=np.array([1, 3], keys), values_tensor=np.array([8, 9], values),
                       default_tensor=np.array([5], values))  # fmt: skip
        tensors = {name: numpy_helper.from_array(value) for name, value in tensors.items()}
        cases += [ml("LabelEncoder", [numbers.astype(keys)], 4, by="reference", **tensors)]
    check_together(cases, tmp_path)


@pytest.mark.slow
def test_linear(tmp_path):
    def classifier(count, labels, post, data=OPEN):
        weights = rand(count * 4, seed=1).tolist()
        intercepts = rand(count, seed=2).tolist()
        return ml("LinearClassifier", [data], outputs=2, coefficients=weights,
                  intercepts=intercepts, classlabels_ints=labels, post_transform=post)  # fmt: skip

    cases = [classifier(3, [5, 7, 9], post) for post in POSTS]
    cases += [classifier(1, [5, 7], post) for post in POSTS]
    cases += [classifier(2, [0, 1], "NONE", rand(3, 4, dtype="int64"))]
    cases += [classifier(count, [5, 7, 9][:count], "NONE", FAR) for count in (2, 3)]
    regressor = dict(coefficients=rand(8, seed=3).tolist(), targets=2)
    cases += [ml("LinearRegressor", [X], post_transform=post, **regressor) for post in POSTS]
    share = dict(coefficients=[0.2, 0.3, 0.1, 0.2], intercepts=[0.05])
    cases += [ml("LinearRegressor", [SHARES], post_transform="PROBIT", **share)]
    check_together(cases, tmp_path)


def machine(kernel, counts, probable=False, post="NONE", seed=0):
    """A classifier of random support vectors."""
    total, number = sum(counts), len(counts)
    rng = np.random.default_rng(seed)
    pairs = number * (number - 1) // 2
    attrs = dict(classlabels_ints=[4, 2, 9][:number], vectors_per_class=counts,
                 rho=rng.normal(size=pairs).tolist(),
                 support_vectors=rng.normal(size=total * 4).tolist(), kernel_type=kernel,
                 coefficients=rng.normal(size=total * (number - 1)).tolist(),
                 kernel_params=[0.5, 0.1, 3.0], post_transform=post)  # fmt: skip
    if probable:
        attrs |= dict(
            prob_a=(-abs(rng.normal(size=pairs))).tolist(), prob_b=rng.normal(size=pairs).tolist()
        )
    return ml("SVMClassifier", [OPEN], outputs=2, **attrs)


@pytest.mark.slow
def test_support_vector_machines(tmp_path):
    cases = [machine(kernel, [2, 3, 2]) for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID")]
    cases += [machine("RBF", counts, True) for counts in ([3, 2], [2, 3, 2])]
    cases += [machine("RBF", [3, 2], post=post, seed=1) for post in ("NONE", "LOGISTIC")]
    for count in (2, 3):
        linear = dict(coefficients=rand(4 * count, seed=1).tolist(), rho=[0.2],
                      classlabels_ints=[1, 5, 3][:count], kernel_type="LINEAR",
                      kernel_params=[0.0] * 3)  # fmt: skip
        cases += [ml("SVMClassifier", [x], outputs=2, **linear) for x in (OPEN, FAR)]
    for kernel, one in (("RBF", 0), ("POLY", 0), ("SIGMOID", 1), ("LINEAR", 0)):
        attrs = dict(n_supports=3, support_vectors=rand(12, seed=4).tolist(), rho=[0.3],
                     coefficients=rand(3, seed=5).tolist(),
                     kernel_params=[0.4, 0.2, 2.0])  # fmt: skip
        cases += [ml("SVMRegressor", [OPEN], kernel_type=kernel, one_class=one, **attrs)]
    check_together(cases, tmp_path)


def ensemble(modes, aggregate=1, post=0, missing=(0, 0, 0), dtype="float32", data=None):
    """Two trees of three nodes each, of any modes."""
    tensors = dict(nodes_modes=np.array(modes * 2, np.uint8),
                   nodes_splits=rand(6, seed=8, dtype=dtype),
                   leaf_weights=rand(8, seed=9, dtype=dtype))  # fmt: skip
    attrs = dict(n_targets=2, aggregate_function=aggregate, post_transform=post,
                 leaf_targetids=[0, 1, 0, 1, 1, 1, 0, 0], tree_roots=[0, 3],
                 nodes_missing_value_tracks_true=[*missing, *missing],
                 nodes_featureids=[0, 1, 2, 3, 0, 1], nodes_truenodeids=[1, 0, 1, 4, 4, 5],
                 nodes_falsenodeids=[2, 2, 3, 5, 6, 7], nodes_trueleafs=[0, 1, 1] * 2,
                 nodes_falseleafs=[0, 1, 1] * 2)  # fmt: skip
    attrs |= {name: numpy_helper.from_array(value) for name, value in tensors.items()}
    holes = rand(8, 4, seed=7, dtype=dtype)
    holes[2, 0] = holes[3, 1] = np.nan
    return ml("TreeEnsemble", [holes if data is None else data], 5, **attrs)


@pytest.mark.slow
def test_trees(tmp_path):
    cases = [ensemble([0, 1, 2], aggregate) for aggregate in range(4)]
    cases += [ensemble([3, 4, 5], missing=(1, 0, 1)), ensemble([2, 0, 0], dtype="float64")]
    cases += [ensemble([0, 0, 0], post=3)]
    # ONNX Runtime has SOFTMAX and LOGISTIC the other way round than ONNX numbers them.
    for post in (1, 2):
        want = right_answer(ensemble([0, 0, 0], post=3 - post))
        cases += [replace(ensemble([0, 0, 0], post=post), want=want)]
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        attrs = trees("target", "ids", 2)
        # A target that few leaves vote for.
        attrs["target_ids"] = [int(k % 5 == 0) for k in range(len(attrs["target_ids"]))]
        attrs |= dict(n_targets=2, aggregate_function=aggregate, base_values=[0.5, -0.5])
        cases += [ml("TreeEnsembleRegressor", [OPEN], 3, **attrs)]
    binary = trees("class", "ids", 1) | dict(classlabels_int64s=[5, 7])
    binary["class_weights"] = [abs(w) / 4 for w in binary["class_weights"]]
    cases += [ml("TreeEnsembleClassifier", [OPEN], 3, 2, post_transform=post, **binary)
              for post in POSTS]  # fmt: skip
    # Weights for the second class only: the first one has none, as ONNX's text has it.
    binary["class_ids"] = [1] * len(binary["class_ids"])
    cases += [ml("TreeEnsembleClassifier", [OPEN], 3, 2, post_transform=post, **binary)
              for post in POSTS]  # fmt: skip
    double = trees("class", "ids", 3) | dict(classlabels_int64s=[0, 5, 7])
    cases += [ml("TreeEnsembleClassifier", [rand(6, 4, dtype="float64")], 3, 2, **double)]
    check_together(cases, tmp_path)


@pytest.mark.slow
def test_numbers_that_no_f32_has(tmp_path):
    """f64 beside an offset, a weight or a threshold of f32; integers beside a threshold."""
    far, other = 1e9 + 1, 2.0**24 + 1
    cases = [
        replace(ml("Scaler", [np.array([[far]])], offset=[1e9], scale=[2.0]),
                want=[np.full((1, 1), 2, "float32")])
    ]  # fmt: skip
    cases += [replace(ml("LinearRegressor", [np.array([[far, 1e9]])], coefficients=[1.0, -1.0]),
                      want=[np.ones((1, 1), "float32")])]  # fmt: skip
    for dtype, values in {
        "float64": [other, 1 + 1e-12],
        "int32": [other],
        "int64": [other],
    }.items():
        x = np.array([[*values, *(np.floor(v) - 1 for v in values)]], dtype)
        for limit in (2.0**24, 1.0, 0.5, -1e30, 1e30, float("inf"), float("nan")):
            above = (x > np.float64(limit)).astype(dtype)
            cases += [replace(ml("Binarizer", [x], threshold=limit), want=[above])]
    check_together(cases, tmp_path)
