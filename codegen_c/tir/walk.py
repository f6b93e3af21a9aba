"""Walking TIR trees; this TVM has no Python visitor for them."""

from __future__ import annotations

from collections.abc import Iterator

import tvm
from tvm import tirx
from tvm.ir import Call, TensorLoad
from tvm.s_tir import SBlock, SBlockRealize

# Fields that hold children, by node type. What is not listed has no children.
_BINARY = ("a", "b")
_FIELDS: dict[type, tuple[str, ...]] = {
    **dict.fromkeys(
        (tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod, tirx.Min),
        _BINARY,
    ),
    **dict.fromkeys((tirx.Max, tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE), _BINARY),
    **dict.fromkeys((tirx.And, tirx.Or, tirx.LShift, tirx.RShift), _BINARY),
    **dict.fromkeys((tirx.BitwiseAnd, tirx.BitwiseOr, tirx.BitwiseXor), _BINARY),
    tirx.Not: ("a",),
    tirx.BitwiseNot: ("a",),
    tirx.Cast: ("value",),
    tirx.Select: ("condition", "true_value", "false_value"),
    tirx.Let: ("var", "value", "body"),
    Call: ("args",),
    TensorLoad: ("source", "indices"),
    tirx.SeqStmt: ("seq",),
    tirx.For: ("loop_var", "min", "extent", "body"),
    tirx.While: ("condition", "body"),
    tirx.IfThenElse: ("condition", "then_case", "else_case"),
    tirx.BufferStore: ("buffer", "value", "indices"),
    tirx.Bind: ("var", "value"),
    tirx.AttrStmt: ("value", "body"),
    tirx.Evaluate: ("value",),
    SBlock: ("init", "body"),
    SBlockRealize: ("iter_values", "predicate", "block"),
}


def walk(node: object) -> Iterator[object]:
    """Every node below and including `node`, parents first, in order of appearance."""
    stack = [node]
    while stack:
        here = stack.pop()
        yield here
        stack.extend(reversed(children(here)))


def children(node: object) -> list[object]:
    """The nodes right below `node`, in order of appearance."""
    found: list[object] = []
    for name in _FIELDS.get(type(node), ()):
        child = getattr(node, name)
        if child is None or isinstance(child, (str, int)):
            continue
        if isinstance(child, tvm.runtime.Object) and not hasattr(child, "__len__"):
            found.append(child)
        else:
            found.extend(child)
    return found


def name_of(e: object) -> str:
    """The name of a call's operator, of which TVM has two namespaces, without it; "" of others."""
    return getattr(e.op, "name", "").rpartition(".")[2] if isinstance(e, Call) else ""


def variables(node: object) -> list[tvm.ir.Var]:
    """The variables in `node`, with repetitions."""
    return [n for n in walk(node) if isinstance(n, tvm.ir.Var)]
