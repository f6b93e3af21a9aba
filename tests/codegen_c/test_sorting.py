"""Sorting: the order of every type is NumPy's, of lines merged and of lines sorted by bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tvm import relax

from tests.codegen_c.tir_support import call, compile_c, emit_all
from tvm_megcc.codegen_c.tir import sorting

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow
TYPES = (
    "float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32",
    "int64", "uint64", "bool",
)  # fmt: skip


def expected(data: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """The stable order; NaN is above all numbers."""
    if not descending:
        return np.argsort(data, axis=axis, kind="stable")
    back = np.argsort(np.flip(data, axis), axis=axis, kind="stable")
    return data.shape[axis] - 1 - np.flip(back, axis)


def values(dtype: np.dtype, shape: tuple[int, ...]) -> list[np.ndarray]:
    """All bits of the type, few different ones, one only, and those that have no order by bits."""
    rng = np.random.default_rng(dtype.itemsize)
    bits = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8)
    if dtype == np.bool_:
        return [(bits[..., 0] & 1).astype(dtype)]
    every = bits.view(dtype)[..., 0]
    few = rng.integers(0, 5, shape).astype(dtype)
    if dtype.kind != "f":
        return [every, few, np.full(shape, 3, dtype)]
    numbers = np.where(np.isnan(every), dtype.type(np.inf), every)
    zeros = np.where(few == 2, dtype.type(-0.0), few - 2)
    unknown = np.where(few == 3, dtype.type(np.nan), -few)
    return [numbers, every, -few, zeros, unknown, np.full(shape, -1, dtype)]


@pytest.mark.parametrize("descending", [False, True], ids=["ascending", "descending"])
@pytest.mark.parametrize("name", TYPES)
def test_order_is_numpy_s(name: str, descending: bool, tmp_path: Path) -> None:
    dtype = np.dtype(name)
    fewest = sorting.RADIX_FEWEST * dtype.itemsize
    for shape, axis in [((2, fewest + 37), 1), ((fewest, 3), 0), ((2, fewest - 1), 1)]:
        ((_, kernel),) = emit_all(
            lambda x, axis=axis: relax.op.argsort(x, axis, descending), [shape], name
        )
        library = compile_c(kernel, tmp_path)
        for data in values(dtype, shape):
            order = np.empty(shape, np.int32)
            call(library, kernel, [data, order], pieces=2)
            np.testing.assert_array_equal(order, expected(data, axis, descending))


@pytest.mark.parametrize("largest", [False, True], ids=["smallest", "largest"])
@pytest.mark.parametrize("name", TYPES)
def test_the_first_are_numpy_s(name: str, largest: bool, tmp_path: Path) -> None:
    dtype = np.dtype(name)
    for shape, axis, count in [((4, 40), 1, 7), ((17, 3), 0, 16), ((2, 3), 1, 3)]:
        ((_, kernel),) = emit_all(
            lambda x, axis=axis, count=count: relax.op.topk(x, count, axis, "indices", largest),
            [shape],
            name,
        )
        library = compile_c(kernel, tmp_path)
        for data in values(dtype, shape):
            want = np.take(expected(data, axis, largest), range(count), axis)
            order = np.empty(want.shape, np.int32)
            call(library, kernel, [data, order])
            np.testing.assert_array_equal(order, want)


def test_the_generator_has_the_header_s_limit() -> None:
    """It makes room for counts where the header uses them."""
    text = (ROOT / "codegen_c/include/megcc_sort.h").read_text()
    assert f"MEGCC_RADIX_FEWEST(bytes) ({sorting.RADIX_FEWEST} * (int32_t)(bytes))" in text
