"""A module that the frontend has made of a model in f16 or bf16, and which values were in f32.

The frontend widens both to f32 wherever something is computed (`tvm_megcc.frontend.importer`); of
f16 the pass HalfPrecision takes that back, of weights in bf16 those of `passes.bf16_weights`.
Models have f32 between, and that is to stay.

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
#: The attribute of a module of a model in f16, and of one in bf16.
F16, BF16 = "tvm_megcc.half", "tvm_megcc.bf16"
#: That of a module in which what becomes f16 is to be `held`.
HELD = "tvm_megcc.held"
#: The largest f16. A finite number beyond it only has to be large, as that of a mask.
LARGEST = float(np.finfo(np.float16).max)


@dataclass(frozen=True, slots=True)
class Said:
    """What the model says of its values, by the names of variables.

    Attributes
    ----------
    full : frozenset of str
        Those in another float.
    others : frozenset of str
        All others: halves, integers, conditions.
    """

    full: frozenset[str]
    others: frozenset[str] = frozenset()

    def variables(self, func: relax.Function) -> set[relax.Var]:
        """Those of a function that the model has in another float.

        One without a name of the model's is among them if nothing is computed from it but those,
        integers and conditions: it is a step on the way. What is cast to floats may be a half.
        """
        bound: dict[relax.Var, relax.Expr] = {}
        results = set(func.params)  # and what a block gives: read by what is not seen here

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
        # What is checked but not read says nothing of what it is made of.
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
    """Whether it may hold floats: what is no tensor may."""
    return not isinstance(var.ty, relax.TensorType) or "float" in str(var.ty.dtype)


def marked(mod: tvm.IRModule, said: Said, kind: str = F16) -> tvm.IRModule:
    """`mod`, which says that it is of a model in such a type, and what the model has otherwise.

    What is bound to a variable of the model is one, too: a result of a block has a name of its own,
    by which the value is known from the first simplification on. Variables inside a block whose
    names TVM chose get others: a pass may call something else so by then.
    """
    # Those of a module that is marked for its second type have their own names already.
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
    """Another name for one that TVM chose inside a block; any other one itself."""
    return SAID + name if name.startswith("lv") and ANONYMOUS.fullmatch(name) else name


@mutator
class _Renamer(PyExprMutator):
    """Gives variables inside blocks other names."""

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
    """What the model says of its values; None for a model without the type."""
    lists = read(mod, kind)
    return lists and Said(*map(frozenset, lists))


def held(builder: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
    """An f32 tensor whose finite numbers are at most `LARGEST`; infinities and NaN stay."""
    is_infinite = builder.emit(relax.op.isinf(x))
    clipped = builder.emit(relax.op.clip(x, -LARGEST, LARGEST))
    return builder.emit(relax.op.where(is_infinite, x, clipped))
