"""Reasons why quantised weights become floats in a package, for ``tvmc inspect``."""

from __future__ import annotations

from collections.abc import Collection

import tvm
from tvm import relax

from tvm_megcc.fuse.graph import Graph
from tvm_megcc.fuse.matmul_wq import quantised
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.control_flow import plain_functions
from tvm_megcc.relax_tools.exprs import constant
from tvm_megcc.relax_tools.names import names_of
from tvm_megcc.relax_tools.traits import MOVES


def widened(mod: tvm.IRModule, kept: Collection[relax.Var]) -> dict[str, str]:
    """Name of weights of 8 bits or fewer that are not `kept` -> why they are floats."""
    names = names_of(mod)
    found: dict[str, str] = {}
    for _, func in plain_functions(mod):
        calls = [(var, call) for var, call in quantised(func) if var not in kept]
        graph = Graph(func) if calls else None
        for var, call in calls:
            numbers = constant(call.args[0])
            # Vectors are biases, which integers of 32 bits would not make smaller.
            if graph is not None and numbers is not None and numbers.ndim > 1:
                size, why = numbers.size, _reason(graph, var)
                found[names.get(var.name, var.name)] = f"{size} numbers of 4 bytes each, {why}"
    return found


def _reason(graph: Graph, var: relax.Var) -> str:
    users = graph.users_of(var)
    while len(users) == 1 and op_name(graph.values[users[0]]) in MOVES:
        users = graph.users_of(users[0])
    if len(users) > 1:
        return "as more than one operator reads them"
    readers = [op_name(graph.values[user]).rpartition(".")[2] for user in users]
    reader = readers[0] if readers and readers[0] else "what reads them"
    return f"as no kernel of {reader} takes them beside floats"
