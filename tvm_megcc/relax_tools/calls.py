"""Which operator or outside function an expression calls, and calls that differ in a few places."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import tvm
from tvm import relax


def op_name(expr: Any) -> str:
    """Name of the operator that an expression calls, as ``relax.add``; "" for any other."""
    if isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op):
        return str(expr.op.name)
    return ""


def packed_name(expr: Any) -> str:
    """Name of the function that a ``call_pure_packed`` calls; "" for any other expression."""
    is_packed = op_name(expr) == "relax.call_pure_packed"
    return str(expr.args[0].global_symbol) if is_packed else ""


def tir_name(expr: Any) -> str:
    """Name of the TIR function that an expression calls; "" for any other expression."""
    return str(expr.args[0].name_hint) if op_name(expr) == "relax.call_tir" else ""


def permutation_of(call: relax.Call) -> list[int]:
    """Axes of a ``permute_dims``, which without axes reverses all."""
    rank, axes = int(call.ty.ndim), call.attrs.axes
    return [*reversed(range(rank))] if axes is None else [int(a) % rank for a in axes]


def reduced_axes(call: relax.Call) -> list[int]:
    """Axes of a reduction, sorted; without axes it has all."""
    rank, axes = int(call.args[0].ty.ndim), call.attrs.axis
    return [*range(rank)] if axes is None else sorted({int(a) % rank for a in axes})


def with_args(call: relax.Call, args: Sequence[relax.Expr]) -> relax.Call:
    """The same call of other operands, which keep shapes and types as its attributes need them."""
    return relax.Call(call.op, list(args), call.attrs, call.ty_args)


def function_of(name: str) -> Callable[..., relax.Call]:
    """Function of ``tvm.relax.op`` that makes calls of the operator `name`, as ``relax.add``."""
    function: Callable[..., relax.Call] = attrgetter(name.removeprefix("relax."))(relax.op)
    return function


def rebuilt(
    call: relax.Call, args: Sequence[relax.Expr], name: str = "", **changed: Any
) -> relax.Call:
    """Copy a call with other operands, and with the attributes in `changed` replaced.

    Parameters
    ----------
    call : Call
    args : sequence of Expr
        Operands in the order of the function in ``relax.op``. Operands that follow an attribute
        there go into `changed`.
    name : str, optional
        The operator; by default that of `call`.
    **changed
        Attributes by the names that they have in ``relax.op``.
    """
    function = function_of(name or op_name(call))
    names = [*inspect.signature(function).parameters][len(args) :]
    given = {n: _plain(getattr(call.attrs, n)) for n in names if hasattr(call.attrs, n)}
    return function(*args, **{**given, **changed})


def _plain(value: Any) -> Any:
    """An attribute as functions of ``relax.op`` take it: lists are Python's, of its numbers."""
    if isinstance(value, tvm.ir.Array):
        return [getattr(v, "value", v) for v in value]
    return value
