"""ReshapesBelow: an elementwise operator comes next to a permutation that keeps lines."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

from tests.passes.support import build, operators, run
from tvm_megcc.passes import ReshapesBelow, stages
from tvm_megcc.relax_tools.kernel_calls import kernels_of

op = relax.op
IMAGE, WINDOWS = (1, 4, 6, 8), (1, 2, 2, 2, 3, 8)


def back(x: relax.Expr) -> relax.Expr:
    """Windows of 2 x 3 pixels go back to their places in an image."""
    return op.reshape(op.permute_dims(x, [0, 1, 3, 2, 4, 5]), IMAGE)


def swapped(x: relax.Expr) -> relax.Expr:
    """A permutation that does not keep lines."""
    return op.reshape(op.permute_dims(op.reshape(x, (6, 8, 4)), [2, 0, 1]), IMAGE)


def module(*values: object, first: bool = False) -> tvm.IRModule:
    make, other = values

    def body(x: relax.Expr, r: relax.Expr) -> relax.Expr:
        moved, kept = make(x), other(r)  # type: ignore[operator]
        return op.subtract(moved, kept) if first else op.subtract(kept, moved)

    return build(body, WINDOWS, IMAGE)


@pytest.mark.parametrize("first", [False, True])
def test_the_operator_stands_behind_the_permutation(first: bool) -> None:
    mod = module(back, lambda r: r, first=first)
    after = ReshapesBelow()(mod)
    names = [name.removeprefix("relax.") for name in operators(after)]
    assert sorted(names) == ["permute_dims", "reshape", "reshape", "subtract"]
    assert names[-2:] == ["subtract", "reshape"]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype("f4") for shape in (WINDOWS, IMAGE)]
    np.testing.assert_array_equal(run(after, *arrays), run(mod, *arrays))


@pytest.mark.parametrize("make", [swapped, lambda x: op.reshape(x, IMAGE)])
def test_others_stay(make: object) -> None:
    mod = module(make, lambda r: r)
    assert operators(ReshapesBelow()(mod)) == operators(mod)


def test_a_product_keeps_what_follows_it() -> None:
    weight = relax.const(np.ones((8, 8), "f4"))
    mod = module(back, lambda r: op.matmul(r, weight))
    assert operators(ReshapesBelow()(mod)) == operators(mod)


def test_one_kernel_moves_and_subtracts() -> None:
    mod = tvm.transform.Sequential(list(stages("arm64").values()))(module(back, lambda r: r))
    (kernel,) = kernels_of(mod)
    assert "tir_fused_transpose_subtract" in kernel
