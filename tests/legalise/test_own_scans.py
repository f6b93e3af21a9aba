"""OwnScans: the numbers of numpy's cumsum and cumprod.

That they write nothing where there is nothing is seen by the sanitizers: the fuzzer's finding of
NonZero over an empty tensor.
"""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from tests.passes.support import build, operators, run
from tvm_megcc.legalise.own_scans import OwnScans

X = np.arange(1, 13, dtype=np.float32).reshape(2, 3, 2)
op = relax.op


@pytest.mark.parametrize(
    ("function", "want"),
    [
        (lambda x: op.cumsum(x, 1), X.cumsum(1)),
        (lambda x: op.cumprod(x, -1), X.cumprod(-1)),
        (lambda x: op.cumsum(x), X.cumsum()),
        (lambda x: op.cumsum(x, 0, "int64"), X.cumsum(0).astype(np.int64)),
        (lambda x: op.cumsum(x, 1, exclusive=True), X.cumsum(1) - X),
    ],
    ids=["axis", "product", "flat", "dtype", "exclusive"],
)
def test_scan_gives_numpys_numbers(function, want: np.ndarray) -> None:
    mod = OwnScans()(build(function, X.shape))
    assert operators(mod) == ["relax.call_tir"]
    (found,) = run(mod, X)
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found, want)
