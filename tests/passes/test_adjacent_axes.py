"""AdjacentAxes: which reductions become several, and that they compute the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from tvm import relax

from tests.ops.together import case, check_together
from tests.passes.support import build, operators, run
from tvm_megcc.fuse.reduction import REDUCE, runs_of
from tvm_megcc.passes import AdjacentAxes, stages
from tvm_megcc.relax_tools.kernel_calls import kernels_of

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("shape", "axes", "runs"), [
    ((2, 3, 4, 5), [1, 2], [[1, 2]]),
    ((2, 3, 4, 5), [0, 2, 3], [[0], [2, 3]]),
    ((1, 3, 4, 5), [0, 2, 3], [[0, 2, 3]]),
    ((2, 1, 4, 5), [0, 2, 3], [[0, 2, 3]]),
    ((2, 3, 1, 5), [0, 2], [[0, 2]]),
    ((2, 3, 4, 5), [0, 2], [[0], [2]]),
    ((2, 1, 1, 5), [1], [[1]]),
    ((1, 3, 1), [0, 2], [[0, 2]]),
    ((0, 3, 4), [0, 2], [[0], [2]]),
])  # fmt: skip
def test_runs(shape: Sequence[int], axes: list[int], runs: list[list[int]]) -> None:
    assert runs_of(shape, axes) == runs


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("name", REDUCE)
def test_one_for_each_run(name: str, keep: bool) -> None:
    shape = (2, 3, 4, 5)

    def body(x: relax.Expr) -> relax.Expr:
        return getattr(relax.op, name)(x, [0, -1, -2], keepdims=keep)

    before = build(body, shape)
    after = AdjacentAxes()(before)
    assert operators(after).count(f"relax.{name}") == 2
    x = RNG.standard_normal(shape).astype(np.float32)
    (want,), (got,) = run(before, x), run(after, x)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("shape", "axes", "calls"), [
    ((2, 3, 64, 5), [0, 2, 3], 2), ((1, 3, 64, 5), [0, 2, 3], 1), ((2, 1, 64, 5), [0, 2, 3], 1),
])  # fmt: skip
def test_each_is_a_kernel_of_the_library(
    shape: Sequence[int], axes: list[int], calls: int
) -> None:  # fmt: skip
    mod = build(lambda x: relax.op.mean(x, axes), shape)
    for name, stage in stages("arm64").items():
        mod = stage(mod)
        if name == "materialise":
            assert [k.template for k in kernels_of(mod).values()] == ["reduce_f32"] * calls


@pytest.mark.slow
def test_axes_of_one_element(tmp_path: Path) -> None:
    """All subsets of axes, of shapes most axes of which have one element."""
    shapes = [(1, 8, 1, 1), (2, 1, 1, 3), (1, 1, 1, 1), (1, 2, 1, 3), (3, 1, 2, 1)]
    subsets = [axes for n in range(1, 5) for axes in combinations(range(4), n)]
    check_together(
        [
            case("ReduceMean", [RNG.uniform(1, 2, shape).astype("f4")], 13, axes=axes)
            for shape, axes in product(shapes, subsets)
        ],
        tmp_path,
    )
