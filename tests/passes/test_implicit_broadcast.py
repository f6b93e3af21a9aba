"""ImplicitBroadcast: which expansions go, and that the numbers stay."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, tirx

from tvm_megcc.passes import ImplicitBroadcast

from . import support

op = relax.op
N = tirx.Var("n", "int64")


def expanded(x: relax.Expr, *shape: object) -> relax.Expr:
    return op.broadcast_to(x, relax.ShapeExpr(shape))


CASES = {
    "lhs": (lambda x, y: op.multiply(expanded(x, 2, 3, 4), y), [(2, 3, 1), (2, 3, 4)],
            ["multiply"]),
    "rhs of less rank": (lambda x, y: op.subtract(x, expanded(y, 2, 3, 4)), [(2, 3, 4), (4,)],
                         ["subtract"]),
    "both, to each other": (
        lambda x, y: op.add(expanded(x, 2, 3, 4), expanded(y, 2, 3, 4)),
        [(2, 1, 4), (1, 3, 1)], ["add"]),
    "both from one": (
        lambda x, y: op.add(expanded(x, 2, 3, 4), expanded(y, 2, 3, 4)),
        [(1, 3, 1), (3, 4)], ["broadcast_to", "add"]),
    "condition": (lambda c, x, y: op.where(op.less(expanded(c, 2, 3), x), x, expanded(y, 2, 3)),
                  [(1, 3), (2, 3), (2, 1)], ["less", "where"]),
    "symbolic": (lambda x, y: op.multiply(expanded(x, N, 3), y), [(1, 3), (N, 3)], ["multiply"]),
    "symbolic, alone": (lambda x, y: op.multiply(expanded(x, N, 3), op.sum(y, axis=0)),
                        [(1, 3), (N, 3)], ["broadcast_to", "sum", "multiply"]),
    "no operator that broadcasts": (
        lambda x, y: op.matmul(expanded(x, 2, 3), y), [(1, 3), (3, 4)], ["broadcast_to", "matmul"]),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CASES))
def test_expansions_that_the_operator_does_itself_go(name: str) -> None:
    body, shapes, expected = CASES[name]
    before = support.build(body, *shapes)
    after = relax.transform.DeadCodeElimination()(ImplicitBroadcast()(before))
    assert support.operators(after) == ["relax." + name for name in expected]
    rng = np.random.default_rng(3)
    given = [rng.standard_normal([5 if d is N else d for d in s]).astype("f4") for s in shapes]
    for want, got in zip(support.run(before, *given), support.run(after, *given), strict=True):
        np.testing.assert_array_equal(got, want)
