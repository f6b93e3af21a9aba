"""Operands brought to agree: dims that an operator needs to be equal become one expression.

Exporters compute one and the same size in several ways, ``h//16`` here and ``2*(h//32)`` there. The
operator says that both are equal, for every input that the model accepts: the operand with the more
complicated expression gets the other one by a ``match_cast``, which is checked at run time. A dim
that is the constant 1 broadcasts; two symbolic dims, or a symbolic one and another constant, are
taken to be equal even where broadcasting would allow that one of them happens to be 1.

Which axes those are the operator's class says by labels (`OnnxOp.labels`); the rules that several
operators share are here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax

from ..dims import Dim, Size
from ._context import Attrs, Context, relax_shape
from ._sizes import SizeArray

Shape = tuple[Size, ...]
#: For each operand its axes' labels (None: this axis need not agree); equal labels, equal dims.
Labels = list[list[Hashable]]
#: Shapes of the operands (None: absent or unknown) and attributes -> labels.
Rule = Callable[[list[Shape | None], Attrs], Labels]

#: Labels of axes on which a constant 1 is stretched begin with this.
STRETCHED = "stretched"
#: A label that begins with this goes on with the size that the dim has to be.
EXACTLY = "exactly"


def agreed(ctx: Context, rule: Rule, values: Sequence[Any], attrs: Attrs) -> list[Any]:
    """The operands of a node, cast where their dims have to agree and are written differently.

    ``rule`` is the operator's `OnnxOp.labels`.
    """
    shapes = [_shape(v) for v in values]
    if not any(isinstance(d, Dim) for s in shapes if s is not None for d in s):
        return list(values)
    labels = rule(shapes, attrs)
    targets = _targets(shapes, labels)
    return [
        value
        if shape is None or not isinstance(value, relax.Expr)
        else _cast(ctx, value, shape, [targets.get(k) for k in _filled(row, len(shape))])
        for value, shape, row in zip(values, shapes, labels, strict=True)
    ]


def _shape(value: Any) -> Shape | None:
    if isinstance(value, np.ndarray | SizeArray):
        return value.shape
    return None if value is None else relax_shape(value)


def _targets(shapes: list[Shape | None], labels: Labels) -> dict[Hashable, Size]:
    """The dim that each label stands for, where operands differ or might."""
    found: dict[Hashable, list[Size]] = {}
    for shape, row in zip(shapes, labels, strict=True):
        for size, label in zip(shape or (), row, strict=False):
            if isinstance(label, tuple) and label[0] == EXACTLY:
                found.setdefault(label, [label[1]])
            if label is not None and not (size == 1 and _is_stretched(label)):
                found.setdefault(label, []).append(size)
    return {label: min(sizes, key=effort) for label, sizes in found.items() if len(sizes) > 1}


def _filled(row: list[Hashable], rank: int) -> list[Hashable]:
    return row + [None] * (rank - len(row))


def _is_stretched(label: Hashable) -> bool:
    return isinstance(label, tuple) and label[0] == STRETCHED


def effort(size: Size) -> tuple[int, str]:
    """A constant is simpler than an expression, a short one simpler than a long one."""
    text = str(size) if isinstance(size, Dim) else ""
    return len(text), text


def _cast(
    ctx: Context, value: relax.Expr, shape: Shape, targets: Sequence[Size | None]
) -> relax.Expr:
    wanted = [
        size if target is None or size == 1 else target
        for size, target in zip(shape, targets, strict=True)
    ]
    rows = list(zip(value.ty.shape.values, shape, wanted, targets, strict=True))
    if any(isinstance(s, int) and isinstance(w, int) and s != w for _, s, w, _ in rows):
        return value  # can never agree: the operator says so better
    if all(t is None or _is_written(ctx, raw, s, w) for raw, s, w, t in rows):
        return value
    return ctx.match_cast(value, wanted)


def _is_written(ctx: Context, raw: Any, size: Size, wanted: Size) -> bool:
    """Whether TVM, too, can see that a dim is the one that is wanted."""
    if size != wanted or isinstance(size, int):
        return size == wanted
    return bool(tvm.sym.Analyzer().can_prove_equal(raw, ctx.prim(wanted)))


# ---- the rules ---------------------------------------------------------------------------------


def right_aligned(rank: int, skip: int = 0) -> list[Hashable]:
    """Labels of the axes but the last ``skip``, counted from behind."""
    return [(STRETCHED, rank - axis) for axis in range(rank - skip)]


def broadcast(*positions: int) -> Rule:
    """Operands that are stretched to one shape, all of them where none is named."""

    def rule(shapes: list[Shape | None], attrs: Attrs) -> Labels:
        if attrs.get("broadcast", 0) and "axis" in attrs:
            return [[] for _ in shapes]
        return [
            right_aligned(len(shape)) if shape and (not positions or k in positions) else []
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
