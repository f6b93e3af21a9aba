"""Tree ensembles (ai.onnx.ml) as tables: all trees go down one level per step.

A comparison of a feature with a threshold has four outcomes: less, equal, greater, and neither as
one is NaN. A node is a row of its successor for each of them, so that every mode of comparison, and
what is done with missing values, is data. A leaf leads to itself: after as many steps as the
deepest tree has levels every walk has ended at its leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import add

import numpy as np
from tvm import relax

from .context import Context, expr_dtype

#: Mode of a node -> which outcomes (less, equal, greater, NaN) lead to the "true" branch.
MODES = {
    "BRANCH_LEQ": (True, True, False, False),
    "BRANCH_LT": (True, False, False, False),
    "BRANCH_GTE": (False, True, True, False),
    "BRANCH_GT": (False, False, True, False),
    "BRANCH_EQ": (False, True, False, False),
    "BRANCH_NEQ": (True, False, True, True),
}

#: The message for a tree with a cycle.
CYCLE = "has a tree with a node that leads back to itself"

#: For a target that no leaf votes for, in a sum, a minimum and a maximum.
_MOST = float(np.finfo(np.float32).max)
_NOTHING = {"SUM": 0.0, "AVERAGE": 0.0, "MIN": _MOST, "MAX": -_MOST}


@dataclass(slots=True)
class Forest:
    """Nodes by number: feature, threshold, successors, votes ``(target, weight)`` of a leaf."""

    roots: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    successors: list[list[int]] = field(default_factory=list)
    votes: list[list[tuple[int, float]]] = field(default_factory=list)

    def leaf(self, votes: Sequence[tuple[int, float]]) -> int:
        """Add a leaf; its number."""
        number = self._added(0, 0.0, list(votes))
        self.successors[number] = [number] * 4
        return number

    def node(self, feature: int, threshold: float) -> int:
        """Add a node; `branch` sets its successors."""
        return self._added(feature, threshold, [])

    def branch(self, number: int, mode: str, missing: bool, yes: int, no: int) -> None:
        """Set the successors of a node."""
        less, equal, greater, nan = MODES[mode]
        taken = (less, equal, greater, nan or missing)
        self.successors[number] = [yes if outcome else no for outcome in taken]

    def leaves(self, root: int) -> list[int]:
        """The leaves that a root leads to."""
        seen: set[int] = set()
        level = {root}
        while level := level - seen:
            seen |= level
            level = set().union(*(self.successors[i] for i in level))
        return sorted(i for i in seen if self.successors[i] == [i] * 4)

    def depth(self) -> int | None:
        """Steps from a root to the deepest leaf; None where a node leads back to itself."""
        level = set(self.roots)
        for depth in range(len(self.features)):
            inner = [self.successors[i] for i in level if self.successors[i] != [i] * 4]
            if not inner:
                return depth
            level = set().union(*inner)
        return None

    def _added(self, feature: int, threshold: float, votes: list[tuple[int, float]]) -> int:
        self.features.append(feature)
        self.thresholds.append(threshold)
        self.successors.append([])
        self.votes.append(votes)
        return len(self.features) - 1


def scores(
    ctx: Context,
    data: relax.Expr,
    trees: Forest,
    outputs: int,
    base: Sequence[float],
    aggregate: str = "SUM",
) -> relax.Expr:
    """``[rows, outputs]``: the leaves' votes, aggregated over the trees, plus the base values."""
    targets = {target for votes in trees.votes for target, _ in votes}
    if stray := targets - set(range(outputs)):
        raise ctx.ill_typed(f"has weights for {min(stray)} of {outputs} targets")
    if aggregate not in _NOTHING:
        raise ctx.unsupported(f"aggregate_function '{aggregate}'", f"use {', '.join(_NOTHING)}")
    table = _table(trees, outputs, aggregate)
    leaves = _lookup(ctx, table, reached(ctx, data, trees), expr_dtype(data))
    return _aggregated(ctx, leaves, base, aggregate)


def voted(ctx: Context, data: relax.Expr, trees: Forest, outputs: int) -> relax.Expr | None:
    """``[rows, outputs]``: which targets a row's leaves vote for; None where that is all."""
    table = np.zeros((len(trees.votes), outputs), bool)
    for row, votes in zip(table, trees.votes, strict=True):
        row[[target for target, _ in votes]] = True
    if np.any([table[trees.leaves(root)].all(0) for root in trees.roots], axis=0).all():
        return None
    dtype = expr_dtype(data)
    found = _lookup(ctx, table.astype(dtype), reached(ctx, data, trees), dtype)
    return ctx.emit(relax.op.greater(ctx.emit(relax.op.max(found, 1)), ctx.const(0, dtype)))


def reached(ctx: Context, data: relax.Expr, trees: Forest) -> relax.Expr:
    """``[rows, trees]``: the leaf that each tree leads a row to."""
    op, dtype = relax.op, expr_dtype(data)
    rows, columns = ctx.shape(data)
    wrong = [f for f in trees.features if not 0 <= f < ctx.static([columns])[0]]
    if wrong:
        raise ctx.ill_typed(f"has feature {max(wrong)} of {columns}")
    depth = trees.depth()
    if depth is None:
        raise ctx.ill_typed(CYCLE)
    at = op.broadcast_to(
        ctx.const(np.array(trees.roots)[None], "int64"), ctx.prims([rows, len(trees.roots)])
    )
    at = ctx.emit(at)
    features, successors = np.array(trees.features), np.array(trees.successors).reshape(-1)
    for _ in range(depth):
        value = ctx.emit(op.gather_elements(data, _lookup(ctx, features, at, "int64"), 1))
        threshold = _lookup(ctx, np.array(trees.thresholds), at, dtype)
        outcome = _outcome(ctx, value, threshold)
        place = ctx.emit(op.add(op.multiply(at, ctx.const(4, "int64")), outcome))
        at = _lookup(ctx, successors, place, "int64")
    return at


def _outcome(ctx: Context, value: relax.Expr, threshold: relax.Expr) -> relax.Expr:
    op = relax.op
    number = [ctx.const(k, "int64") for k in range(4)]
    rest = op.where(op.greater(value, threshold), number[2], number[3])
    rest = op.where(op.equal(value, threshold), number[1], ctx.emit(rest))
    return ctx.emit(op.where(op.less(value, threshold), number[0], ctx.emit(rest)))


def _table(trees: Forest, outputs: int, aggregate: str) -> np.ndarray:
    """``[nodes, targets]``: the vote of each node for each target."""
    joins: dict[str, Callable[[float, float], float]] = {"MIN": min, "MAX": max}
    join: Callable[[float, float], float] = joins.get(aggregate, add)
    table = np.full((len(trees.votes), outputs), _NOTHING[aggregate])
    for row, votes in zip(table, trees.votes, strict=True):
        for target, weight in votes:
            row[target] = join(row[target], weight)
    return table


def _aggregated(
    ctx: Context, leaves: relax.Expr, base: Sequence[float], aggregate: str
) -> relax.Expr:
    op, dtype = relax.op, expr_dtype(leaves)
    reduce = {"SUM": op.sum, "AVERAGE": op.mean, "MIN": op.min, "MAX": op.max}[aggregate]
    total = ctx.emit(reduce(leaves, 1))
    if aggregate in ("MIN", "MAX"):
        empty = op.equal(total, ctx.const(_NOTHING[aggregate], dtype))
        total = ctx.emit(op.where(ctx.emit(empty), ctx.const(0, dtype), total))
    if not any(base):
        return total
    return ctx.emit(op.add(total, ctx.const(np.array(base)[None], dtype)))


def _lookup(ctx: Context, table: np.ndarray, at: relax.Expr, dtype: str) -> relax.Expr:
    return ctx.emit(relax.op.take(ctx.const(table, dtype), at, 0, "clip"))
