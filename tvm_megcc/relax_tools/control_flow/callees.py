"""Callees of functions: finding, copying and renaming them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace

import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.utils import copy_with_new_vars

from tvm_megcc.relax_tools.control_flow.roles import region_of, with_region


def called_by(mod: tvm.IRModule, names: Iterable[str]) -> list[str]:
    """Names of all Relax functions that these reach, in a fixed order."""
    found: dict[str, None] = {}
    waiting = list(names)
    while waiting:
        for gvar in _callees(mod, mod[waiting.pop(0)]):
            if gvar.name_hint not in found:
                found[gvar.name_hint] = None
                waiting.append(gvar.name_hint)
    return [name for name in found if name not in set(names)]


def _callees(mod: tvm.IRModule, func: relax.Function) -> list[relax.GlobalVar]:
    found = {g.name_hint: g for g in relax.analysis.all_global_vars(func)}
    return [found[n] for n in sorted(found) if isinstance(mod[n], relax.Function)]


def with_own_callees(
    mod: tvm.IRModule,
    func: relax.Function,
    suffix: str,
    change: Callable[[relax.Function], relax.Function],
) -> relax.Function:
    """Let `func` call copies of all its callees, each changed by `change`.

    The copies are added to `mod`; their names end in `suffix`. So branches and loops of a function
    for some sizes are for these sizes, too.
    """
    callees: dict[str, relax.GlobalVar] = {}
    waiting = [g.name_hint for g in _callees(mod, func)]
    while waiting:
        name = waiting.pop()
        if name not in callees:
            callees[name] = relax.GlobalVar(name + suffix)
            waiting += [g.name_hint for g in _callees(mod, mod[name])]
    if not callees:
        return func
    changed = {name: change(copy_with_new_vars(mod[name])) for name in callees}
    for name, gvar in callees.items():
        relax.expr._update_type(gvar, changed[name].ty)
    renaming = _Renaming(callees)
    for name, gvar in callees.items():
        made = renaming.visit_expr(changed[name])
        region = region_of(made)
        if region is not None:
            names = [key for key, value in asdict(region).items() if isinstance(value, str)]
            new = {key: callees[getattr(region, key)].name_hint for key in names}
            made = with_region(made, replace(region, **new))
        mod[gvar] = made.with_attr("global_symbol", gvar.name_hint)
    return renaming.visit_expr(func)


def taken_out(mod: tvm.IRModule, name: str, builder: relax.BlockBuilder) -> relax.Function:
    """Take a function out of `mod`; the TIR functions that it calls are added to `builder`."""
    callees = {
        gvar.name_hint: builder.add_func(func, gvar.name_hint)
        for gvar, func in mod.functions_items()
        if isinstance(func, tirx.PrimFunc)
    }
    return _Renaming(callees).visit_expr(mod[name]) if callees else mod[name]


@mutator
class _Renaming(PyExprMutator):
    """Replaces callees by name."""

    def __init__(self, callees: Mapping[str, relax.GlobalVar]) -> None:
        super().__init__()
        self.callees = callees

    def visit_global_var_(self, op: relax.GlobalVar) -> relax.GlobalVar:
        return self.callees.get(op.name_hint, op)
