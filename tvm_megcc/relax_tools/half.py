"""Marks of a module of a model in f16 or bf16: which of its values the model has in f32.

The frontend widens both to f32 for computing (`tvm_megcc.frontend.importer`). The pass
HalfPrecision undoes that for f16, and those of `passes.bf16_weights` for weights in bf16. Values
that the model itself has in f32 stay so.

Example
-------
>>> import tvm
>>> said(marked(tvm.IRModule(), Said(frozenset({'logits'})))).full
frozenset({'logits'})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tvm_megcc.relax_tools.attributes import read, written
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.names import ANONYMOUS, SAID

HALF = "float16"
_CAST = "relax.astype"
#: Attributes of modules of models in f16, and in bf16.
F16, BF16 = "tvm_megcc.half", "tvm_megcc.bf16"
#: Attribute of a module in which casts to f16 clip (`held`).
HELD = "tvm_megcc.held"
#: The largest f16. Finite numbers beyond it, as those of masks, only have to be large.
LARGEST = float(np.finfo(np.float16).max)


@dataclass(frozen=True, slots=True)
class Said:
    """Types of a model's values, by names of variables.

    Attributes
    ----------
    full : frozenset of str
        Values in another float type.
    others : frozenset of str
        All other values: f16 or bf16, integers, conditions.
    """

    full: frozenset[str]
    others: frozenset[str] = frozenset()

    def variables(self, func: relax.Function) -> set[relax.Var]:
        """Variables of a function that the model has in another float type.

        A variable without a name of the model's is a step on the way to its readers: it is one if
        all readers are such variables, integers or conditions, and do not cast it to a float.
        """
        bound: dict[relax.Var, relax.Expr] = {}
        results = set(func.params)  # and results of blocks, whose readers are not seen here

        def collect(expr: relax.Expr) -> None:
            if isinstance(expr, relax.SeqExpr):
                bound.update((b.var, b.value) for block in expr.blocks for b in block.bindings)
                results.update(relax.analysis.free_vars(expr.body))

        relax.analysis.post_order_visit(func, collect)
        readers: dict[relax.Var, list[relax.Var]] = {}
        for user, value in bound.items():
            for var in relax.analysis.free_vars(value):
                readers.setdefault(var, []).append(user)
        found = {v for v in (*bound, *func.params) if v.name in self.full or not _is_float(v)}
        # A value that is checked but not read tells nothing of its operands.
        found |= {
            v for v in bound
            if v not in readers and v not in results and v.name not in self.others
        }  # fmt: skip
        waiting = list(found)
        while waiting:
            value = bound.get(waiting.pop())
            for var in relax.analysis.free_vars(value) if value is not None else ():
                if var in found or var in results or var.name in self.others:
                    continue
                if all(
                    user in found and not (_is_float(user) and op_name(bound[user]) == _CAST)
                    for user in readers[var]
                ):
                    found.add(var)
                    waiting.append(var)
        return {var for var in found if _is_float(var)}


def _is_float(var: relax.Var) -> bool:
    """Whether a variable may hold floats; other values than tensors may."""
    return not isinstance(var.ty, relax.TensorType) or "float" in str(var.ty.dtype)


def marked(mod: tvm.IRModule, said: Said, kind: str = F16) -> tvm.IRModule:
    """Mark `mod` as of a model in this type, with the model's values in other types.

    An alias of a model's variable is marked, too: a result of a block has a name of its own, which
    stays after the first simplification. Variables inside a block with names from TVM are renamed,
    as a pass may reuse such a name.
    """
    # Variables of a module that is marked a second time have been renamed already.
    full, others = ({*names, *map(_own, names)} for names in (said.full, said.others))
    inside: set[str] = set()  # names of floats inside a block

    def add_bound(expr: relax.Expr) -> None:
        for block in expr.blocks if isinstance(expr, relax.SeqExpr) else ():
            for binding in block.bindings:
                var, value = binding.var, binding.value
                for names in (full, others):
                    if isinstance(value, relax.Var) and value.name in names:
                        names.add(var.name)
                if isinstance(var, relax.DataflowVar) and _is_float(var):
                    inside.add(var.name)

    functions = {v: f for v, f in mod.functions.items() if isinstance(f, relax.Function)}
    for func in functions.values():
        relax.analysis.post_order_visit(func, add_bound)
    if renamed := {name: _own(name) for name in inside & (full | others) if _own(name) != name}:
        mod = mod.clone()
        for gvar, func in functions.items():
            mod.update_func(gvar, _Renamer(renamed).visit_expr(func))
    there = {renamed.get(name, name) for name in inside}
    lists = [
        sorted(n for n in {*map(_own, names)} if n in there or not n.startswith(SAID))
        for names in (full, others - full)
    ]
    return written(mod, kind, lists)


def _own(name: str) -> str:
    """Own name for a variable that TVM has named inside a block; other names stay."""
    return SAID + name if name.startswith("lv") and ANONYMOUS.fullmatch(name) else name


@mutator
class _Renamer(PyExprMutator):
    """Renames variables inside blocks."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self.names = names

    def visit_dataflow_var_def_(self, var: relax.DataflowVar) -> relax.Var:
        if var.name not in self.names:
            return super().visit_dataflow_var_def_(var)
        new = relax.DataflowVar(self.names[var.name], var.ty)
        self.set_var_remap(var, new)
        return new


def said(mod: tvm.IRModule, kind: str = F16) -> Said | None:
    """The marks of a module; None for a model without the type."""
    lists = read(mod, kind)
    return lists and Said(*map(frozenset, lists))


def held(builder: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
    """Clip finite numbers of an f32 tensor to `LARGEST`; infinities and NaN stay."""
    is_infinite = builder.emit(relax.op.isinf(x))
    clipped = builder.emit(relax.op.clip(x, -LARGEST, LARGEST))
    return builder.emit(relax.op.where(is_infinite, x, clipped))
