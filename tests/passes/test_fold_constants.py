"""FoldConstants: index arithmetic on constants is done when the model is compiled."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from tvm_megcc.passes import FoldConstants

from . import support

op = relax.op
INDICES = np.array([[-1, 2, 0], [1, -3, 4]], np.int64)


def sizes(x: relax.Expr) -> relax.Expr:
    return op.shape_to_tensor(op.shape_of(x))


def wrapped(x: relax.Expr) -> relax.Expr:
    """Negative indices as ONNX means them: what the importer emits for ScatterND and others."""
    indices = relax.const(INDICES, "int64")
    extent = op.strided_slice(sizes(x), [0], [1], [2])
    below = op.less(indices, relax.const(0, "int64"))
    return op.where(below, op.add(indices, extent), indices)


def cut(begin: int, end: int, step: int):
    data = relax.const(np.arange(10), "int64")
    return lambda x: op.strided_slice(data, [0], [begin], [end], [step])


FOLDED = {
    "sizes": (sizes, [3, 5]),
    "wrapped indices": (wrapped, [[4, 2, 0], [1, 2, 4]]),
    "slice": (cut(2, 9, 3), [2, 5, 8]),
    "slice from the end": (cut(-4, -1, 1), [6, 7, 8]),
    "slice past the end": (cut(7, 99, 1), [7, 8, 9]),
    "slice backwards": (cut(3, -11, -1), [3, 2, 1, 0]),
}


@pytest.mark.parametrize("name", sorted(FOLDED))
def test_constant_index_arithmetic_folds(name: str) -> None:
    body, expected = FOLDED[name]
    before = support.build(body, (3, 5))
    after = FoldConstants()(before)
    assert support.operators(after) == []
    x = np.zeros((3, 5), np.float32)
    (got,) = support.run(after, x)
    assert got.tolist() == expected and got.dtype == np.int64
    np.testing.assert_array_equal(support.run(before, x)[0], got)


def test_symbolic_sizes_stay() -> None:
    before = support.build(sizes, (tirx.Var("n", "int64"), 5))
    after = FoldConstants()(before)
    assert support.operators(after) == ["relax.shape_of", "relax.shape_to_tensor"]
    tvm.ir.assert_structural_equal(after, FoldConstants()(after))
