"""Places of extremes along an axis: the first one, or the first NaN."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import te

from tests.tvm_target import LLVM
from tvm_megcc.legalise import arg_extreme

INF, NAN = np.inf, np.nan
RNG = np.random.default_rng(7)

#: Arrays; the extreme of a line is twice in it, or it has nothing finite.
ARRAYS = [
    RNG.integers(0, 3, (2, 5, 3)).astype("float32"),
    np.float32([[INF, 1, INF], [-INF, -INF, -INF], [1, NAN, NAN], [NAN, INF, 2]]),
    np.array([[-(2**31), 5, 5], [2**31 - 1, -7, 2**31 - 1]], "int32"),
    RNG.integers(0, 2, (1, 4, 1)).astype("float32"),
]


def found(x: np.ndarray, axis: int | None, keep: bool, largest: bool) -> np.ndarray:
    given = te.placeholder(x.shape, str(x.dtype), "x")
    result = arg_extreme._lines(given, axis, keep, largest)
    run = tvm.compile(te.create_prim_func([given, result]), target=LLVM)
    out = tvm.runtime.tensor(np.empty([int(d) for d in result.shape], "int64"))
    run(tvm.runtime.tensor(x), out)
    return out.numpy()


@pytest.mark.parametrize("largest", [True, False], ids=["max", "min"])
@pytest.mark.parametrize("array", range(len(ARRAYS)))
def test_as_in_numpy(array: int, largest: bool) -> None:
    x, numpy = ARRAYS[array], np.argmax if largest else np.argmin
    for axis in (None, *range(x.ndim)):
        keep = axis is None or (axis + array) % 2 == 0
        wanted = numpy(x, axis=axis, keepdims=keep)
        got = found(x, axis if keep or axis is None else axis - x.ndim, keep, largest)
        assert got.shape == wanted.shape, axis
        np.testing.assert_array_equal(got, wanted, f"axis {axis}")
