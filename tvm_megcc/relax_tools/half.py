"""A module that the frontend has made of a model in f16, and which of its values were in f32.

The frontend widens f16 to f32 wherever something is computed (`tvm_megcc.frontend.importer`); the
pass HalfPrecision takes that back. Models have f32 between the f16, and that is to stay.

Example
-------
>>> import tvm
>>> full_values(marked(tvm.IRModule(), {"logits"}))
frozenset({'logits'})
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import tvm
from tvm import relax

ATTRIBUTE = "tvm_megcc.half"


def marked(mod: tvm.IRModule, full: Iterable[str]) -> tvm.IRModule:
    """`mod`, which says that it is of a model in f16, but for the variables `full`.

    What is bound to one of them is one, too: a result of a block has a name of its own, by which
    the value is known from the first simplification on.
    """
    names = set(full)

    def add_bound(expr: relax.Expr) -> None:
        for block in expr.blocks if isinstance(expr, relax.SeqExpr) else ():
            for binding in block.bindings:
                value = binding.value
                if isinstance(value, relax.Var) and value.name in names:
                    names.add(binding.var.name)

    for func in mod.functions.values():
        if isinstance(func, relax.Function):
            relax.analysis.post_order_visit(func, add_bound)
    return mod.with_attr(ATTRIBUTE, json.dumps(sorted(names)))


def full_values(mod: tvm.IRModule) -> frozenset[str] | None:
    """Names of the variables that the model has in f32; None for a model without f16."""
    if not mod.attrs or ATTRIBUTE not in mod.attrs:
        return None
    return frozenset(json.loads(str(mod.attrs[ATTRIBUTE])))
