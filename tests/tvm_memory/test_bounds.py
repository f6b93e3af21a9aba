"""Bytes of tensors under the bounds that a function declares for its dims."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import tvm
from tvm import relax, tirx

from tvm_megcc.tvm_memory.bounds import Bounds, storage_bytes

N, M = tirx.Var("n", "int64"), tirx.Var("m", "int64")


def bounds(upper: dict[str, int] | None, lower: dict[str, int] | None = None) -> Bounds:
    """Of a function of ``x[n, m]`` with these attributes."""
    x = relax.Var("x", relax.TensorType((N, M), "float32"))
    func = relax.Function([x], x, relax.TensorType((N, M), "float32"))
    for name, values in (("tir_var_upper_bound", upper), ("tir_var_lower_bound", lower)):
        func = func if values is None else func.with_attr(name, values)
    return Bounds(func)


@pytest.mark.parametrize(
    "shape, dtype, wanted",
    [
        ([], "float32", 4),
        ([2, 3], "float16", 12),
        ([N], "float32", 32),
        ([N, 5], "int8", 40),
        ([N * 2 + 1], "float32", 68),
        ([tirx.floordiv(N, 3)], "int8", 2),
        ([tirx.max(N, 6)], "int8", 8),
        ([tirx.max(4 - N, 0)], "int8", 1),  # n is 3 or more
        ([N, N], "bool", 64),
    ],
    ids=str,
)
def test_bounded_dims_are_as_large_as_they_get(
    shape: Sequence[tirx.PrimExpr | int], dtype: str, wanted: int
) -> None:
    found = bounds({"n": 8, "q": 1}, {"n": 3})
    dims = [tirx.const(dim, "int64") if isinstance(dim, int) else dim for dim in shape]
    assert found.size(dims, dtype) == wanted


@pytest.mark.parametrize("upper", [None, {}, {"n": 8}])
def test_others_stay_as_they_are(upper: dict[str, int] | None) -> None:
    found = bounds(upper)
    for dim in (M, M * 2, M + N):
        size = found.size([dim, tirx.const(3, "int64")], "float32")
        assert tvm.sym.Analyzer().can_prove_equal(size, dim * 12)
    assert found.dim(N) == 8 if upper else found.dim(N).same_as(N)


def test_bytes_of_an_element() -> None:
    names = ["bool", "int4", "uint8", "int4x3", "float16", "float32", "float32x4", "int64"]
    assert [storage_bytes(name) for name in names] == [1, 1, 1, 2, 2, 4, 16, 8]
