"""Unique as ONNX's reference, numpy, has it, from ONNX to the running package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from tests.ops.packages import RNG, Arrays, model, runner
from tvm_megcc import relay

NAMES = ("y", "first", "inverse", "counts")


def unique(
    dtype: int, dims: list[int | str], names: tuple[str, ...] = NAMES, **attrs: Any
) -> object:
    kept = [(n, dtype if n == "y" else T.INT64) for n in names if n]
    return model([helper.make_node("Unique", ["x"], names, **attrs)], [("x", dtype, dims)], kept)


def expected(x: np.ndarray, axis: int | None, ordered: int) -> Arrays:
    y, first, inverse, counts = np.unique(x, True, True, True, axis)
    inverse = inverse.reshape(-1)
    if not ordered:
        order = np.argsort(first)
        inverse = np.argsort(order)[inverse]
        first, counts = first[order], counts[order]
        y = np.take(x.reshape(-1) if axis is None else x, first, axis=axis or 0)
    return dict(zip(NAMES, (y, first, inverse, counts), strict=True))


def check_unique(
    folder: Path, dtype: int, dims: list[int | str], data: list[np.ndarray], **attrs: Any
) -> None:
    run = runner(unique(dtype, dims, **attrs), folder)
    for x in data:
        found = run({"x": x})
        for name, want in expected(x, attrs.get("axis"), attrs.get("sorted", 1)).items():
            np.testing.assert_array_equal(found[name], want, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int64", "int32", "uint8", "float64", "bool"])
def test_unique_elements(dtype: str, ordered: int, tmp_path: Path) -> None:
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    low = 0 if dtype in ("uint8", "bool") else -2
    data = [RNG.integers(low, 4, (n, 3)).astype(dtype) for n in (5, 1, 11)]
    data += [np.ones((4, 3), dtype), np.zeros((0, 3), dtype)]
    if dtype != "bool":
        data.append(RNG.permutation(99).reshape(33, 3).astype(dtype))
    check_unique(tmp_path, kind, ["n", 3], data, sorted=ordered)


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_slices(axis: int, ordered: int, tmp_path: Path) -> None:
    data = [RNG.integers(0, 2, shape).astype("f4") for shape in ((5, 4, 2), (1, 1, 2), (9, 2, 2))]
    data.append(np.zeros((3, 4, 2), "f4"))
    check_unique(tmp_path, T.FLOAT, ["n", "m", 2], data, axis=axis, sorted=ordered)


@pytest.mark.slow
def test_unique_takes_all_nan_for_one(tmp_path: Path) -> None:
    nan = np.nan
    data = [[nan, 1, nan, -np.inf], [nan, nan, nan, nan], [0.0, -0.0, np.inf, nan], [3, 2, 1, 0]]
    check_unique(tmp_path, T.FLOAT, [4], [np.array(d, "f4") for d in data], sorted=1)


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [0, 1])
def test_unique_slices_with_nan_are_all_different(ordered: int, tmp_path: Path) -> None:
    nan = np.nan
    x = np.array([[nan, 1], [0, 1], [nan, 1], [nan, 0], [0, 1], [nan, nan], [1, nan]], "f4")
    check_unique(tmp_path, T.FLOAT, ["n", 2], [x, x[1:5]], axis=0, sorted=ordered)


@pytest.mark.slow
@pytest.mark.parametrize("names", [("y",), ("", "", "inverse"), ("y", "", "", "counts")])
def test_unique_with_some_outputs(names: tuple[str, ...], tmp_path: Path) -> None:
    run = runner(unique(T.INT64, [6], names), tmp_path)
    x = np.array([5, 1, 1, 9, 5, 5])
    found = run({"x": x})
    want = expected(x, None, 1)
    for name in filter(None, names):
        np.testing.assert_array_equal(found[name], want[name])


@pytest.mark.slow
def test_unique_of_what_depends_on_data(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["at"]),
        helper.make_node("Unique", ["at"], ["y", "", "", "counts"]),
    ]
    run = runner(
        model(nodes, [("x", T.FLOAT, ["n", 5])], [("y", T.INT64), ("counts", T.INT64)]), tmp_path
    )
    for x in (np.eye(3, 5, dtype="f4"), np.zeros((2, 5), "f4"), np.ones((1, 5), "f4")):
        y, counts = np.unique(np.array(np.nonzero(x)), return_counts=True)
        found = run({"x": x})
        np.testing.assert_array_equal(found["y"], y)
        np.testing.assert_array_equal(found["counts"], counts)


def test_sizes_that_depend_on_sizes_run_after_run() -> None:
    """In one context: what an earlier run has read must not be taken for what this one reads."""
    nodes = [
        helper.make_node("NonZero", ["x"], ["at"]),
        helper.make_node("Unique", ["at"], ["u"]),
        helper.make_node("Reshape", ["at", "column"], ["c"]),
        helper.make_node("Mul", ["c", "u"], ["y"]),
    ]
    column = numpy_helper.from_array(np.array([-1, 1]), "column")
    proto = model(nodes, [("x", T.FLOAT, ["n", 5])], [("y", T.INT64)], [column])
    mod, params = relay.frontend.from_onnx(proto)
    module = relay.build(mod, target="tvm_megcc", params=params)
    run = relay.GraphModule(module["default"](tvm.cpu()))
    one, all_true = np.eye(1, 5, dtype="f4"), np.ones((1, 5), "f4")
    for x in (one, all_true, one, np.zeros((1, 5), "f4"), all_true, np.eye(3, 5, dtype="f4")):
        at = np.array(np.nonzero(x))
        run.run(x=x)
        want = at.reshape(-1, 1) * np.unique(at)
        np.testing.assert_array_equal(run.get_output(0).numpy(), want)
