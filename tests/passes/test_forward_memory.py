"""ForwardMemory: what only renames memory becomes a view; what moves an element stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tvm
from tvm import relax

from tests.passes.support import build, operators
from tvm_megcc.passes import ForwardMemory

op = relax.op
X = (1, 4, 6)

#: Name -> the operator, its input, and the views it becomes: shape and first byte of each.
VIEWS: dict[str, tuple[Callable[[relax.Expr], relax.Expr], tuple[int, ...], list[tuple]]] = {
    "reshape": (lambda x: op.reshape(x, [2, 12]), X, [((2, 12), 0)]),
    "squeeze": (lambda x: op.squeeze(x, 0), X, [((4, 6), 0)]),
    "expand_dims": (lambda x: op.expand_dims(x, 3), X, [((1, 4, 6, 1), 0)]),
    "flatten": (op.flatten, X, [((24,), 0)]),
    "an axis of one moves": (lambda x: op.permute_dims(x, [1, 0, 2]), X, [((4, 1, 6), 0)]),
    "a slice of rows": (lambda x: op.strided_slice(x, [1], [1], [3]), X, [((1, 2, 6), 24)]),
    "a slice from the end": (lambda x: op.strided_slice(x, [1], [-1], [9]), X, [((1, 1, 6), 72)]),
    "a split of rows": (lambda x: op.split(x, [1], 1), X, [((1, 1, 6), 0), ((1, 3, 6), 24)]),
}  # fmt: skip

STAYS: dict[str, tuple[Callable[[relax.Expr], relax.Expr], tuple[int, ...]]] = {
    "axes that are more than one": (lambda x: op.permute_dims(x, [0, 2, 1]), X),
    "a slice of columns": (lambda x: op.strided_slice(x, [2], [1], [3]), X),
    "a slice of rows of each of two": (lambda x: op.strided_slice(x, [1], [1], [3]), (2, 4, 6)),
    "every other row": (lambda x: op.strided_slice(x, [1], [0], [4], [2]), X),
    "a split of columns": (lambda x: op.split(x, 2, 2), X),
}


@pytest.mark.parametrize("name", VIEWS)
def test_forward_memory_makes_views(name: str) -> None:
    body, shape, wanted = VIEWS[name]

    def expected(x: relax.Expr) -> relax.Expr:
        views = [
            op.memory.view(x, relax.ShapeExpr(dims), relative_byte_offset=relax.prim_value(first))
            for dims, first in wanted
        ]
        return views[0] if len(views) == 1 else relax.Tuple(views)

    after = ForwardMemory()(build(body, shape))
    assert set(operators(after)) <= {"relax.memory.view", "relax.null_value"}
    tvm.ir.assert_structural_equal(
        _plain(after), _plain(build(expected, shape)), map_free_vars=True
    )


@pytest.mark.parametrize("name", STAYS)
def test_forward_memory_leaves_what_moves(name: str) -> None:
    before = build(*STAYS[name])
    tvm.ir.assert_structural_equal(ForwardMemory()(before), before)


def test_forward_memory_leaves_constants() -> None:
    """TVM folds them; a view of a weight would keep it from being packed."""
    before = build(lambda x: op.add(x, op.reshape(relax.const([1.0, 2.0]), [2, 1])), (2, 3))
    tvm.ir.assert_structural_equal(ForwardMemory()(before), before)


def _plain(mod: tvm.IRModule) -> tvm.IRModule:
    """Without bindings that are only another name."""
    mod = relax.transform.CanonicalizeBindings()(mod)
    return relax.transform.DeadCodeElimination()(mod)
