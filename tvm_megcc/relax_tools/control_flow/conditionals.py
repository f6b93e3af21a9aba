"""Branches: a function that calls one of two others."""

from __future__ import annotations

from functools import partial

from tvm import relax

from tvm_megcc.relax_tools.control_flow.closures import (
    Exprs,
    captured,
    closed,
    function_of,
    sequence,
)
from tvm_megcc.relax_tools.control_flow.roles import Branches, Functions, with_region


def branches(
    builder: relax.BlockBuilder,
    functions: Functions,
    name: str,
    condition: relax.Expr,
    then: relax.Function,
    other: relax.Function,
) -> relax.Expr:
    """Call one of two functions without parameters, chosen during the run.

    Parameters
    ----------
    builder : relax.BlockBuilder
        Where the call is emitted.
    functions : Functions
        Where the callees are added.
    name : str
        Name of the callee.
    condition : relax.Expr
        ``bool``, of rank 0.
    then, other : relax.Function
        They may use variables and symbolic dims of the function being built.
    """
    around = captured(then, other)
    callees = [
        functions.add(f"{name}_{word}", closed(func, around))
        for word, func in (("then", then), ("else", other))
    ]

    def body(inner: relax.BlockBuilder, params: Exprs) -> relax.Expr:
        choice, *rest = params

        def called(callee: relax.GlobalVar, builder: relax.BlockBuilder) -> relax.Expr:
            return builder.emit(relax.Call(callee, rest))

        then, other = (sequence(inner, partial(called, callee)) for callee in callees)
        return inner.emit(relax.If(choice, then, other))

    arguments = [condition, *around.arguments]
    chooser = function_of([a.ty for a in arguments], body)
    region = Branches(*(callee.name_hint for callee in callees))
    callee = functions.add(name, with_region(chooser, region))
    return builder.emit(relax.Call(callee, arguments), name)
