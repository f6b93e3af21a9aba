"""Dims that an operator needs to be equal: made one expression, refused where they never are.

Exporters compute one and the same size in several ways, ``h//16`` here and ``2*(h//32)`` there. The
operator needs both to be equal, for every input that the model accepts: the operand with the more
complicated expression gets the other expression by a ``match_cast``, which is checked at run time.
A dim that is the constant 1 broadcasts; where a dynamic dim may be 1, `shapes.broadcast` handles
both cases.

The operator's class labels those axes (`OnnxOp.labels`); rules that several operators share are
here.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import filterfalse
from typing import Any, Protocol

import numpy as np
import tvm
from tvm import relax

from tvm_megcc.dims import Dim, Size, effort, may_be_one

from .axes import normal_axis
from .broadcast import broadcast_to, common
from .builder import ShapeBuilder
from .sizes import SizeArray

Shape = tuple[Size, ...]
#: For each operand the labels of its axes (None: no condition); equal labels, equal dims.
Labels = list[list[Hashable]]
#: Labels of axes that broadcast against each other begin with this.
BROADCAST = "broadcast"
#: ``(WHOLE, x)`` is an axis that those with ``(BROADCAST, x)`` broadcast to.
WHOLE = "whole"
#: ``(EXACTLY, size)`` is an axis of that size.
EXACTLY = "exactly"


class Rule(Protocol):
    """Shapes of the operands (None: absent or unknown) and attributes -> labels."""

    def __call__(self, shapes: list[Shape | None], attrs: dict[str, Any]) -> Labels: ...


def unify(ctx: ShapeBuilder, rule: Rule, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """Cast operands so that dims that must be equal are one expression.

    ``rule`` is the operator's `OnnxOp.contract`. Operands that can never fit stay as they are.
    """
    shapes = [_shape(ctx, v) for v in values]
    if not any(isinstance(d, Dim) for s in shapes if s is not None for d in s):
        return list(values)
    labels = rule(shapes, attrs)
    targets = _targets(ctx, shapes, labels)
    return [
        value
        if shape is None or not isinstance(value, relax.Expr)
        else _unified(ctx, value, shape, _filled(row, len(shape)), targets)
        for value, shape, row in zip(values, shapes, labels, strict=True)
    ]


def mismatch(ctx: ShapeBuilder, rule: Rule, values: Sequence[Any], attrs: dict[str, Any]) -> str:
    """A message on static dims of the operands that break the rule; empty where none do."""
    shapes = [_shape(ctx, v) for v in values]
    found: dict[Hashable, tuple[int, int, Size]] = {}
    for k, (shape, row) in enumerate(zip(shapes, rule(shapes, attrs), strict=False)):
        for axis, (size, label) in enumerate(zip(shape or (), row, strict=False)):
            kind, key = _split(label)
            if kind == EXACTLY and _differ(size, key):
                return f"dim {axis} of operand {k} is {size}, and must be {key}"
            if label is None or not isinstance(size, int) or (size == 1 and kind == BROADCAST):
                continue
            # A dim that is not 1 is as large as the dims that it broadcasts against.
            other, at, wanted = found.setdefault(
                (BROADCAST, key) if kind == WHOLE else label, (k, axis, size)
            )
            if wanted != size:
                return (
                    f"dim {axis} of operand {k} is {size}, and dim {at} of operand {other} {wanted}"
                )
    return ""


def require(
    ctx: ShapeBuilder, rule: Rule, values: Sequence[Any], attrs: dict[str, Any]
) -> list[Any]:
    """`unify`.

    Raises
    ------
    IllTypedError
        The operands have static dims that break the rule.
    """
    if text := mismatch(ctx, rule, values, attrs):
        raise ctx.ill_typed(text)
    return unify(ctx, rule, values, attrs)


def _differ(a: Size, b: Any) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a != b


def _shape(ctx: ShapeBuilder, value: Any) -> Shape | None:
    if isinstance(value, np.ndarray | SizeArray):
        return value.shape
    return None if value is None else ctx.shape_or_none(value)


def _targets(ctx: ShapeBuilder, shapes: list[Shape | None], labels: Labels) -> dict[Hashable, Size]:
    """The dim for each label whose operands differ or may differ."""
    found: dict[Hashable, list[Size]] = {}
    for shape, row in zip(shapes, labels, strict=True):
        for size, label in zip(shape or (), row, strict=False):
            kind, key = _split(label)
            if kind == EXACTLY:
                found.setdefault(label, [key])
            if label is not None and not (size == 1 and kind == BROADCAST):
                found.setdefault(label, []).append(size)
    targets: dict[Hashable, Size] = {}
    for label, sizes in found.items():
        kind, key = _split(label)
        whole = (WHOLE, key)
        if kind == BROADCAST and whole in found:
            # A dim that is never 1 is the whole dim.
            known = [*found[whole], *filterfalse(may_be_one, sizes)]
            targets[label] = targets[whole] = min(known, key=effort)
        elif len(set(sizes)) > 1:
            usual = common(ctx, sizes) if kind == BROADCAST else min(sizes, key=effort)
            targets.setdefault(label, usual)
    return targets


def _filled(row: list[Hashable], rank: int) -> list[Hashable]:
    return row + [None] * (rank - len(row))


def _split(label: Hashable) -> tuple[Any, Any]:
    """Kind and key of a label; two times None of a plain one, whose dims are just equal."""
    return label if isinstance(label, tuple) else (None, None)


def _unified(
    ctx: ShapeBuilder,
    value: relax.Expr,
    shape: Shape,
    labels: Sequence[Hashable],
    targets: dict[Hashable, Size],
) -> relax.Expr:
    wanted = [
        size if size == 1 else targets.get(label, size)
        for size, label in zip(shape, labels, strict=True)
    ]
    pairs = list(zip(shape, wanted, strict=True))
    if any(_differ(*pair) for pair in pairs):
        return value  # never equal: the operator has the better message
    kinds = [_split(label)[0] for label in labels]
    dims = [w if kind == BROADCAST else s for (s, w), kind in zip(pairs, kinds, strict=True)]
    value = broadcast_to(ctx, value, shape, dims)
    rows = zip(value.ty.shape.values, ctx.shape_or_none(value) or (), wanted, labels, strict=True)
    written = all(label not in targets or _is_written(ctx, *row) for *row, label in rows)
    return value if written else ctx.match_cast(value, wanted)


def _is_written(ctx: ShapeBuilder, raw: Any, size: Size, wanted: Size) -> bool:
    """Whether TVM, too, can see that a dim is the wanted one."""
    if size != wanted or isinstance(size, int):
        return size == wanted
    return bool(tvm.sym.Analyzer().can_prove_equal(raw, ctx.prim(wanted)))


# ---- the rules ---------------------------------------------------------------------------------


def right_aligned(rank: int, skip: int = 0, kind: str = BROADCAST) -> list[Hashable]:
    """Labels of the axes but the last ``skip``, counted from behind."""
    return [(kind, rank - axis) for axis in range(rank - skip)]


def last_dims(shapes: list[Shape | None], attrs: dict[str, Any]) -> Labels:
    """Operands whose last dims are equal."""
    return [[None] * (len(shape) - 1) + ["last"] if shape else [] for shape in shapes]


def broadcast(*positions: int, whole: int | None = None) -> Rule:
    """Operands that broadcast to one shape, all of them where no positions are given.

    Operand ``whole`` has that shape.
    """

    def rule(shapes: list[Shape | None], attrs: dict[str, Any]) -> Labels:
        if attrs.get("broadcast", 0) and "axis" in attrs:  # before opset 7
            first, second = (len(shape or ()) for shape in shapes)
            start = normal_axis(attrs["axis"], first)
            inner = right_aligned(first)[start : start + second]
            return [right_aligned(first, kind=WHOLE), inner]
        return [
            right_aligned(len(shape), kind=WHOLE if k == whole else BROADCAST)
            if shape and (not positions or k in positions)
            else []
            for k, shape in enumerate(shapes)
        ]

    return rule


def matmul(a: int, b: int) -> Rule:
    """Operands ``a`` and ``b``: the inner dims are equal, those before them broadcast."""

    def rule(shapes: list[Shape | None], attrs: dict[str, Any]) -> Labels:
        labels: Labels = [[] for _ in shapes]
        lhs, rhs = shapes[a], shapes[b]
        if lhs and rhs:
            labels[a] = [*right_aligned(len(lhs), 2), *([None, "k"] if len(lhs) > 1 else ["k"])]
            labels[b] = [*right_aligned(len(rhs), 2), *(["k", None] if len(rhs) > 1 else ["k"])]
        return labels

    return rule


def numbered(rule: Rule, *groups: tuple[int, int, Sequence[int]]) -> Rule:
    """`rule`, and operands with one number for all, or one for each place of another one's axis.

    A group is that other operand, its axis (the first one, or one of a matrix, from behind) and
    the operands with numbers. Those of several dims have 1 in the place of the matrix's other axis.
    """

    def labelled(shapes: list[Shape | None], attrs: dict[str, Any]) -> Labels:
        labels = rule(shapes, attrs)
        for k, axis, operands in groups:
            shape = shapes[k] or ()
            row = labels[k] = _filled(list(labels[k]), len(shape))
            is_there = -len(shape) <= axis < len(shape) and row[axis] is None
            if is_there:
                row[axis] = (WHOLE, ("places", k, axis))
            for number in filter(len(shapes).__gt__, operands):
                rank = len(shapes[number] or ())
                labels[number] = _places(rank, k, axis, row if is_there else [])
        return labels

    return labelled


def _places(rank: int, k: int, axis: int, row: list[Hashable]) -> list[Hashable]:
    """Labels of `rank` dims with numbers for an axis of operand `k`, whose labels are `row`."""
    labels: list[Hashable] = [(EXACTLY, 1)] * rank
    if row and rank:
        labels[0 if rank == 1 else axis] = (BROADCAST, ("places", k, axis))
        if axis < 0:
            for lead in range(3, min(rank, len(row)) + 1):
                labels[-lead] = row[-lead]
    return labels


def convolution(data: int, weight: int, transposed: bool = False) -> Rule:
    """The data's channels follow from the weight; no other axes are equal."""

    def rule(shapes: list[Shape | None], attrs: dict[str, Any]) -> Labels:
        labels: Labels = [[None] * len(shape or ()) for shape in shapes]
        groups, weights = attrs.get("group", 1), shapes[weight]
        if transposed or groups == 1:
            labels[data][1] = labels[weight][0 if transposed else 1] = "c"
        elif weights is not None:
            labels[data][1] = (EXACTLY, weights[1] * groups)
        return labels

    return rule
