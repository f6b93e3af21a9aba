"""A module that the frontend has made of a model in f16 or bf16, and which values were in f32.

The frontend widens both to f32 wherever something is computed (`tvm_megcc.frontend.importer`); of
f16 the pass HalfPrecision takes that back, of weights in bf16 those of `passes.bf16_weights`.
Models have f32 between, and that is to stay.

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

#: The attribute of a module of a model in f16, and of one in bf16.
F16, BF16 = "tvm_megcc.half", "tvm_megcc.bf16"


def marked(mod: tvm.IRModule, full: Iterable[str], kind: str = F16) -> tvm.IRModule:
    """`mod`, which says that it is of a model in such a type, but for the variables `full`.

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
    return mod.with_attr(kind, json.dumps(sorted(names)))


def full_values(mod: tvm.IRModule, kind: str = F16) -> frozenset[str] | None:
    """Names of the variables that the model has not in the type; None for a model without it."""
    if not mod.attrs or kind not in mod.attrs:
        return None
    return frozenset(json.loads(str(mod.attrs[kind])))
