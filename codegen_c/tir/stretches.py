"""Stretches of a loop in which its conditions do not change: a Concat, a Pad of a fixed width.

Enters: a loop whose body chooses by comparing its variable with numbers. Leaves: the numbers at
which a comparison changes, and the body of each stretch between them, without the choices.
"""

from __future__ import annotations

import itertools

import tvm
import tvm_ffi
from tvm import tirx
from tvm.ir import Call
from tvm.sym import Analyzer, detect_linear_equation

from . import choices
from .indices import COMPARE
from .walk import variables, walk

#: Stretches of a loop at most: each is a loop of its own.
MOST = 4


def cuts_of(loop: tirx.For) -> list[int]:
    """Where conditions of the loop's body change, in order; none if there are too many."""
    extent = loop.extent
    if not isinstance(extent, tirx.IntImm) or not isinstance(loop.min, tirx.IntImm):
        return []
    found = set()
    for node in walk(loop.body):
        if type(node) in COMPARE and loop.loop_var in variables(node):
            found.update(_changes(node, loop.loop_var))
    cuts = sorted(cut for cut in found if 0 < cut < int(extent.value))
    return cuts if len(cuts) < MOST else []


def _changes(node: tvm.ir.Expr, var: tvm.ir.Var) -> list[int]:
    """The values of `var` from which a comparison may have another value than before."""
    if "int" not in str(node.a.ty.dtype):
        return []
    analyzer = Analyzer()
    parts = detect_linear_equation(analyzer.simplify(node.a - node.b), [var])
    if not len(parts) or not all(isinstance(part, tirx.IntImm) for part in parts):
        return []
    slope, start = (int(part.value) for part in parts)
    if slope not in (1, -1):
        return []
    same = -start * slope  # where both sides are equal
    if isinstance(node, (tirx.EQ, tirx.NE)):
        return [same, same + 1]
    behind = isinstance(node, (tirx.LE, tirx.GT)) == (slope == 1)
    return [same + 1 if behind else same]


def stretches(loop: tirx.For, cuts: list[int]) -> list[tirx.BufferStore]:
    """The body of each stretch, without the choices that are known there."""
    ends = [0, *cuts, int(loop.extent.value)]
    found = []
    for first, last in itertools.pairwise(ends):
        analyzer = Analyzer()
        analyzer.bind(loop.loop_var, tvm.ir.Range(first, last))
        found.append(_without_choices(loop.body, analyzer))
    return found


def _without_choices(body: tirx.BufferStore, analyzer: Analyzer) -> tirx.BufferStore:
    def chosen(e: tvm.ir.Expr) -> tvm.ir.Expr:
        if (parts := choices.parts_of(e)) is None or "bool" not in str(parts[0].ty.dtype):
            return e
        condition, yes, no = parts
        if analyzer.can_prove(condition):
            return yes
        return no if analyzer.can_prove(tirx.Not(condition)) else e

    value = tvm_ffi.structural_map(body.value, ((Call, tirx.Select), chosen), order="post")
    return tirx.BufferStore(body.buffer, value, body.indices)
