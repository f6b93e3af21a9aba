"""Operands brought to agree: dims that an operator needs to be equal become one expression.

Exporters compute one and the same size in several ways, ``h//16`` here and ``2*(h//32)`` there. The
operator says that both are equal, for every input that the model accepts: the operand with the more
complicated expression gets the other one by a ``match_cast``, which is checked at run time. A dim
that is the constant 1 broadcasts; where broadcasting allows that an open dim happens to be 1,
`common.stretched` takes both.

Which axes those are the operator's class says by labels (`OnnxOp.labels`); the rules that several
operators share are here.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import filterfalse
from typing import Any, Protocol

import numpy as np
import tvm
from tvm import relax

from ...dims import Dim, Size, effort, may_be_one
from ...shapes.sizes import SizeArray
from .context import Attrs, Context
from .shapes import normal_axis
from .stretched import common, stretched

Shape = tuple[Size, ...]
#: For each operand its axes' labels (None: this axis need not agree); equal labels, equal dims.
Labels = list[list[Hashable]]
#: Labels of axes which broadcasting stretches begin with this.
STRETCHED = "stretched"
#: ``(WHOLE, x)`` is the axis beside ``(STRETCHED, x)`` that is not stretched itself.
WHOLE = "whole"
#: A label that begins with this goes on with the size that the dim has to be.
EXACTLY = "exactly"


class Rule(Protocol):
    """Shapes of the operands (None: absent or unknown) and attributes -> labels."""

    def __call__(self, shapes: list[Shape | None], attrs: Attrs) -> Labels: ...


def agreed(ctx: Context, rule: Rule, values: Sequence[Any], attrs: Attrs) -> list[Any]:
    """The operands of a node, cast where their dims have to agree and are written differently.

    ``rule`` is the operator's `OnnxOp.contract`.
    """
    shapes = [_shape(ctx, v) for v in values]
    if not any(isinstance(d, Dim) for s in shapes if s is not None for d in s):
        return list(values)
    labels = rule(shapes, attrs)
    targets = _targets(ctx, shapes, labels)
    return [
        value
        if shape is None or not isinstance(value, relax.Expr)
        else _agreeing(ctx, value, shape, _filled(row, len(shape)), targets)
        for value, shape, row in zip(values, shapes, labels, strict=True)
    ]


def disagreement(ctx: Context, rule: Rule, values: Sequence[Any], attrs: Attrs) -> str:
    """What is wrong with dims that have to agree and are known; empty where nothing is."""
    shapes = [_shape(ctx, v) for v in values]
    found: dict[Hashable, tuple[int, int, Size]] = {}
    for k, (shape, row) in enumerate(zip(shapes, rule(shapes, attrs), strict=False)):
        for axis, (size, label) in enumerate(zip(shape or (), row, strict=False)):
            if _is(EXACTLY, label) and isinstance(label, tuple) and _differ(size, label[1]):
                return f"dim {axis} of operand {k} is {size}, and must be {label[1]}"
            if label is None or not isinstance(size, int) or (size == 1 and _is(STRETCHED, label)):
                continue
            # What is not 1 is as large as what it is stretched beside.
            key = (STRETCHED, label[1]) if isinstance(label, tuple) and _is(WHOLE, label) else label
            other, at, wanted = found.setdefault(key, (k, axis, size))
            if wanted != size:
                return (
                    f"dim {axis} of operand {k} is {size}, and dim {at} of operand {other} {wanted}"
                )
    return ""


def fitting(ctx: Context, rule: Rule, values: Sequence[Any], attrs: Attrs) -> list[Any]:
    """`agreed`, of operands that may agree.

    Raises
    ------
    IllTypedError
        They never do.
    """
    if text := disagreement(ctx, rule, values, attrs):
        raise ctx.ill_typed(text)
    return agreed(ctx, rule, values, attrs)


def _differ(a: Size, b: Size) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a != b


def _shape(ctx: Context, value: Any) -> Shape | None:
    if isinstance(value, np.ndarray | SizeArray):
        return value.shape
    return None if value is None else ctx.shape_or_none(value)


def _targets(ctx: Context, shapes: list[Shape | None], labels: Labels) -> dict[Hashable, Size]:
    """The dim that each label stands for, where operands differ or might."""
    found: dict[Hashable, list[Size]] = {}
    for shape, row in zip(shapes, labels, strict=True):
        for size, label in zip(shape or (), row, strict=False):
            if isinstance(label, tuple) and label[0] == EXACTLY:
                found.setdefault(label, [label[1]])
            if label is not None and not (size == 1 and _is(STRETCHED, label)):
                found.setdefault(label, []).append(size)
    targets: dict[Hashable, Size] = {}
    for label, sizes in found.items():
        own = None
        if isinstance(label, tuple) and _is(STRETCHED, label):
            own = (WHOLE, label[1])
        whole = found.get(own)
        if own is not None and whole is not None:
            # What is not 1 in any case is the whole dim.
            targets[label] = min([*whole, *filterfalse(may_be_one, sizes)], key=effort)
            targets[own] = targets[label]
        elif len(set(sizes)) > 1:
            is_met = _is(STRETCHED, label)
            usual = common(ctx, sizes) if is_met else min(sizes, key=effort)
            targets.setdefault(label, usual)
    return targets


def _filled(row: list[Hashable], rank: int) -> list[Hashable]:
    return row + [None] * (rank - len(row))


def _is(kind: str, label: Hashable) -> bool:
    return isinstance(label, tuple) and label[0] == kind


def _agreeing(
    ctx: Context,
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
        return value  # can never agree: the operator says so better
    meeting = [w if _is(STRETCHED, k) else s for (s, w), k in zip(pairs, labels, strict=True)]
    value = stretched(ctx, value, shape, meeting)
    rows = zip(value.ty.shape.values, ctx.shape_or_none(value) or (), wanted, labels, strict=True)
    written = all(label not in targets or _is_written(ctx, *row) for *row, label in rows)
    return value if written else ctx.match_cast(value, wanted)


def _is_written(ctx: Context, raw: Any, size: Size, wanted: Size) -> bool:
    """Whether TVM, too, can see that a dim is the one that is wanted."""
    if size != wanted or isinstance(size, int):
        return size == wanted
    return bool(tvm.sym.Analyzer().can_prove_equal(raw, ctx.prim(wanted)))


# ---- the rules ---------------------------------------------------------------------------------


def right_aligned(rank: int, skip: int = 0, kind: str = STRETCHED) -> list[Hashable]:
    """Labels of the axes but the last ``skip``, counted from behind."""
    return [(kind, rank - axis) for axis in range(rank - skip)]


def last_dims(shapes: list[Shape | None], attrs: Attrs) -> Labels:
    """Operands whose last dims are equal."""
    return [[None] * (len(shape) - 1) + ["last"] if shape else [] for shape in shapes]


def broadcast(*positions: int, whole: int | None = None) -> Rule:
    """Operands that are stretched to one shape, all of them where none is named.

    The one that is ``whole`` has that shape.
    """

    def rule(shapes: list[Shape | None], attrs: Attrs) -> Labels:
        if attrs.get("broadcast", 0) and "axis" in attrs:  # before opset 7
            first, second = (len(shape or ()) for shape in shapes)
            start = normal_axis(attrs["axis"], first)
            inner = right_aligned(first)[start : start + second]
            return [right_aligned(first, kind=WHOLE), inner]
        return [
            right_aligned(len(shape), kind=WHOLE if k == whole else STRETCHED)
            if shape and (not positions or k in positions)
            else []
            for k, shape in enumerate(shapes)
        ]

    return rule


def matmul(a: int, b: int) -> Rule:
    """Operands ``a`` and ``b``: the inner dims agree, those before them are stretched."""

    def rule(shapes: list[Shape | None], attrs: Attrs) -> Labels:
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

    def labelled(shapes: list[Shape | None], attrs: Attrs) -> Labels:
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
        labels[0 if rank == 1 else axis] = (STRETCHED, ("places", k, axis))
        if axis < 0:
            for lead in range(3, min(rank, len(row)) + 1):
                labels[-lead] = row[-lead]
    return labels


def convolution(data: int, weight: int, transposed: bool = False) -> Rule:
    """The data's channels are what the weight says; nothing else is shared."""

    def rule(shapes: list[Shape | None], attrs: Attrs) -> Labels:
        labels: Labels = [[None] * len(shape or ()) for shape in shapes]
        groups, weights = attrs.get("group", 1), shapes[weight]
        if transposed or groups == 1:
            labels[data][1] = labels[weight][0 if transposed else 1] = "c"
        elif weights is not None:
            labels[data][1] = (EXACTLY, weights[1] * groups)
        return labels

    return rule
