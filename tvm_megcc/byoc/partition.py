"""Partitioning: what our compiler takes of a Relax module becomes regions, the rest stays TVM's.

A function that calls branches or loops, or casts what it reads, is one region with all that it
calls. Of any other function, the calls that `patterns` accepts are merged into regions, each as
large as it can be.

Example
-------
>>> mod = partition_for_megcc(mod, params=params)                        # doctest: +SKIP
>>> executable = tvm.compile(relax.transform.RunCodegen()(mod), "llvm")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.relax.utils import copy_with_new_vars

from tvm_megcc.byoc.patterns import ANCHORS, computable, patterns
from tvm_megcc.byoc.regions import CODEGEN, Region, is_region, sealed
from tvm_megcc.codegen_c.emit import c_name
from tvm_megcc.core.this_machine import is_native
from tvm_megcc.passes import ExpandQuantised, FoldConstants
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.checks import CHECKED
from tvm_megcc.relax_tools.composite import operator_of
from tvm_megcc.relax_tools.control_flow import called_by, region_of
from tvm_megcc.relax_tools.draws import DRAWN
from tvm_megcc.relax_tools.exprs import expressions
from tvm_megcc.relax_tools.inlining import Inlined
from tvm_megcc.relax_tools.names import ATTRIBUTE as NAMES
from tvm_megcc.relax_tools.shape_exprs import (
    bounds_of,
    multiples_of,
    with_bounds,
    with_multiples,
)
from tvm_megcc.target import architecture

#: Functions of ours that imported models call; in a package they are steps of the VM.
OWN_EXTERNS = {CHECKED, DRAWN}
#: Threads that a region for another machine than this one is planned for.
THREADS_ELSEWHERE = 4


def partition_for_megcc(
    mod: tvm.IRModule,
    arch: Any = None,
    *,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> tvm.IRModule:
    """Give the parts of a module that tvm_megcc takes to its codegen.

    Parameters
    ----------
    mod : IRModule
        Any Relax module, dispatched ones included; it is not changed. Weights that are parameters
        without a value in `params` stay parameters, and convolutions with them TVM's.
    arch : str, tvm.target.Target, dict or None
        The machine: a name as in ``tvmc compile --arch`` or a target; None is this one.
    params : mapping of str to tensor, optional
        Values of ``main``'s parameters, which become constants.
    threads : int, optional
        The most threads of TVM's pool that a region splits work for: its memory is planned for
        them. By default TVM's number of threads here, and 4 for another machine.

    Returns
    -------
    IRModule
        With functions whose attribute ``Codegen`` is ``tvm_megcc``, ready for
        ``relax.transform.RunCodegen``. What each computes: ``byoc.inside(mod["main_megcc_0"])``.

    Raises
    ------
    tvm_megcc.errors.InputError
        For a machine or a target that is none of ours.
    """
    if params:
        mod = relax.transform.BindParams("main", dict(params))(mod)
    return _passed(mod, PartitionForMegcc(arch, threads))


@tvm.transform.module_pass(opt_level=0, name="tvm_megcc.PartitionForMegcc")
class PartitionForMegcc:
    """`partition_for_megcc` as a pass, for any ``tvm.transform.Sequential``."""

    def __init__(self, arch: Any = None, threads: int | None = None) -> None:
        self.arch = architecture(arch)
        if threads is None:
            native = is_native(self.arch)
            threads = _threads_of_tvm() if native else THREADS_ELSEWHERE
        self.threads = threads

    def transform_module(self, mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        return _Partition(mod, self.arch, self.threads).module()


def _threads_of_tvm() -> int:
    """The number of threads that TVM's runtime would use here.

    The question makes a pool and binds the asking thread, and all that it starts later, compilers
    too, to one core. So a thread of its own asks.
    """
    with ThreadPoolExecutor(1) as pool:
        return int(pool.submit(tvm.runtime.num_threads).result())


class _Partition:
    """The partitioning of one module."""

    def __init__(self, mod: tvm.IRModule, arch: str, threads: int) -> None:
        self.mod, self.arch, self.threads = mod, arch, threads
        self.names = mod.attrs[NAMES] if mod.attrs and NAMES in mod.attrs else None
        self.variables = {g.name_hint: g for g in mod.get_global_vars()}

    def module(self) -> tvm.IRModule:
        functions = {g.name_hint: f for g, f in self.mod.functions_items()}
        control = [n for n, f in functions.items() if region_of(f) is not None]
        composites = {n for n, f in functions.items() if operator_of(f) is not None}
        parts = {*control, *called_by(self.mod, control), *composites}
        own = {n: f for n, f in functions.items() if n not in parts}
        made: dict[str, relax.Function] = {}
        expanded = _passed(self.mod, ExpandQuantised())
        for name, func in own.items():
            if not isinstance(func, relax.Function) or is_region(func) or _has_branches(func):
                continue
            outside, callees = _externs(func), called_by(self.mod, [name])
            control_flow = any(region_of(functions[n]) for n in callees)
            odd = _is_odd(func) or (name != "main" and "main" in callees)
            if not outside and not control_flow and not odd:
                made |= self._merged(expanded, name)
            elif outside <= OWN_EXTERNS and _is_closed(func):
                made |= self._outlined(name, callees)
        return self._with(made, list(own))

    def _with(self, made: Mapping[str, relax.Function], roots: list[str]) -> tvm.IRModule:
        """The module with functions replaced or added, without those that only regions call now."""
        mod = tvm.IRModule(dict(self.mod.functions), self.mod.attrs, self.mod.global_infos)
        for name, func in made.items():
            mod[self.variables[name]] = func
        # RunCodegen reads every function there is, and ends the process over a loop.
        relax_roots = [name for name in roots if isinstance(mod[name], relax.Function)]
        kept = {*roots, *made, *called_by(mod, relax_roots)}
        return tvm.IRModule(
            {g: f for g, f in mod.functions_items() if g.name_hint in kept},
            mod.attrs,
            mod.global_infos,
        )

    def _outlined(self, name: str, callees: list[str]) -> dict[str, relax.Function]:
        """A function with branches or loops as one region, and a caller of the region."""
        func, kept = self.mod[name], _only(self.mod, callees).functions
        gvar = self._added(name, func)
        region = self._sealed(gvar.name_hint, name, copy_with_new_vars(func), kept)
        caller = relax.BlockBuilder()
        with caller.function(name, list(func.params)):
            with caller.dataflow():
                result = caller.emit_output(relax.Call(gvar, list(func.params)))
            caller.emit_func_output(result)
        return {name: _with_attrs_of(func, caller.get()[name]), gvar.name_hint: region}

    def _added(self, caller: str, func: relax.Function) -> relax.GlobalVar:
        """The variable of a region of the type of `func`, with a name that nothing has."""
        names = (c_name(f"{caller}_megcc_{k}") for k in count())
        name = next(name for name in names if name not in self.variables)
        gvar = self.variables[name] = relax.GlobalVar(name)
        relax.expr._update_type(gvar, func.ty)
        return gvar

    def _sealed(
        self,
        name: str,
        caller: str,
        main: relax.Function,
        callees: Mapping[relax.GlobalVar, object],
    ) -> relax.Function:
        """The region that computes `main`, whose dims have the bounds that the caller's have."""
        attrs = {NAMES: self.names} if self.names is not None else {}
        for key in dict(main.attrs or {}):
            main = main.without_attr(key)
        main = main.with_attr("global_symbol", "main")
        main = with_multiples(main, multiples_of(self.mod[caller]))
        bounds = bounds_of(self.mod[caller])
        main = with_bounds(main, bounds.values()) if bounds else main
        inner = tvm.IRModule({**callees, relax.GlobalVar("main"): main}, attrs=attrs)
        return sealed(name, Region(inner, self.arch, self.threads))

    def _merged(self, mod: tvm.IRModule, name: str) -> dict[str, relax.Function]:
        """A function without branches, with calls of regions, and these regions."""
        mod = _alone(mod, name)
        for step in (
            relax.transform.ConvertToDataflow(min_size=1),
            FoldConstants(),
            relax.transform.FuseOpsByPattern(
                patterns(), bind_constants=True, entry_functions=["main"]
            ),
            relax.transform.MergeCompositeFunctions(),
        ):
            mod = _passed(mod, step)
        found = _flat(mod)
        kept = {n: f for n, f in found.items() if _is_worth_it(f) and _is_closed(f)}
        back = {n: f for n, f in found.items() if n not in kept}
        func = Inlined(mod, back).visit_expr(mod["main"]) if back else mod["main"]
        calls = _RegionCalls(mod, kept, lambda region: self._added(name, region))
        made = {name: _with_attrs_of(self.mod[name], calls.visit_expr(func))}
        for region, inner in calls.regions.items():
            made[region] = self._sealed(region, name, inner, _prim_funcs(self.mod, inner))
        return made if calls.regions else {}


@mutator
class _RegionCalls(PyExprMutator):
    """Calls of a function's regions by names of ours, with their tensors alone.

    TVM passes sizes as arguments of their own; the tensors' dims say them as well.
    """

    def __init__(
        self,
        mod: tvm.IRModule,
        found: Mapping[str, relax.Function],
        added: Callable[[relax.Function], relax.GlobalVar],
    ) -> None:
        super().__init__(mod)
        self.found, self.added = found, added
        #: The regions by their new names.
        self.regions: dict[str, relax.Function] = {}

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = self.visit_expr_post_order(call)
        name = str(call.op.name_hint) if isinstance(call.op, relax.GlobalVar) else ""
        if name not in self.found:
            return call
        pairs = zip(self.found[name].params, call.args, strict=True)
        kept = [argument for param, argument in pairs if not _is_size(param)]
        region = _without_sizes(self.found[name])
        gvar = self.added(region)
        self.regions[gvar.name_hint] = region
        return relax.Call(gvar, kept)


def _passed(mod: tvm.IRModule, step: Any) -> tvm.IRModule:
    """The module after a pass; TVM's decorator hides from mypy that a pass can be called."""
    return step(mod)


def _flat(mod: tvm.IRModule) -> dict[str, relax.Function]:
    """The regions of a module with the calls of their composite functions in place of these."""
    regions = [gvar.name_hint for gvar, func in mod.functions_items() if is_region(func)]
    mod = _only(mod, regions)
    for step in (
        relax.transform.LambdaLift(),
        relax.transform.InlinePrivateFunctions(),
        relax.transform.ConvertToDataflow(min_size=1),
        relax.transform.CanonicalizeBindings(),
    ):
        mod = step(mod)
    return {name: mod[name] for name in regions}


def _without_sizes(region: relax.Function) -> relax.Function:
    """The function with the sizes of its parameters in place of parameters that only pass sizes."""
    values = {p: relax.ShapeExpr(p.ty.values) for p in region.params if _is_size(p)}
    return region.bind_params(values) if values else region


def _is_size(param: relax.Var) -> bool:
    return isinstance(param.ty, relax.ShapeType)


def _alone(mod: tvm.IRModule, name: str) -> tvm.IRModule:
    """A function under the name of ``main``, the only one that TVM merges anything in.

    What it calls is there as well, with an attribute for which TVM leaves it alone.
    """
    callees = set(called_by(mod, [name]))
    main = mod[name].with_attr("global_symbol", "main")  # private ones are removed
    functions: dict[relax.GlobalVar, object] = {relax.GlobalVar("main"): main}
    for gvar, func in mod.functions_items():
        if not isinstance(func, relax.Function):
            functions[gvar] = func
        elif gvar.name_hint in callees:
            functions[gvar] = func.with_attr("Codegen", f"{CODEGEN}.aside")
    return tvm.IRModule(functions, mod.attrs, mod.global_infos)


def _prim_funcs(mod: tvm.IRModule, func: relax.Function) -> dict[relax.GlobalVar, tirx.PrimFunc]:
    """The functions that a function calls by ``call_tir``."""
    return {gvar: mod[gvar.name_hint] for gvar in relax.analysis.all_global_vars(func)}


def _only(mod: tvm.IRModule, names: list[str]) -> tvm.IRModule:
    """The module of these functions and of those that are no Relax."""
    kept = {
        gvar: func
        for gvar, func in mod.functions_items()
        if gvar.name_hint in names or not isinstance(func, relax.Function)
    }
    return tvm.IRModule(kept, mod.attrs, mod.global_infos)


def _with_attrs_of(given: relax.Function, func: relax.Function) -> relax.Function:
    """`func` with the attributes of a function; a private one stays private."""
    return func.without_attr("global_symbol").with_attrs(dict(given.attrs or {}))


def _has_branches(func: relax.Function) -> bool:
    return any(isinstance(one, relax.If) for one in expressions(func))


def _is_odd(func: relax.Function) -> bool:
    """Whether the function has parts on which TVM's fusion and merging fail.

    These are casts, and dims that depend on a condition.
    """
    casts = any(isinstance(b, relax.MatchCast) for k in func.body.blocks for b in k.bindings)
    return casts or any("if_then_else" in str(expr.ty) for expr in expressions(func))


def _externs(func: relax.Function) -> set[str]:
    """The functions outside of the module that a function calls."""
    return {str(e.global_symbol) for e in expressions(func) if isinstance(e, relax.ExternFunc)}


def _is_worth_it(region: relax.Function) -> bool:
    """Whether a region has an operator for which there are hand-written kernels."""
    calls = (b.value for block in region.body.blocks for b in block.bindings)
    return any(op_name(call) in ANCHORS for call in calls)


def _is_closed(func: relax.Function) -> bool:
    """Whether all operands and results are tensors whose dims follow from the operands' dims."""
    tensors = [p.ty for p in func.params if not _is_size(p)]
    if not all(isinstance(ty, relax.TensorType) for ty in tensors):
        return False
    if not all(map(computable, [*tensors, func.ret_ty])):
        return False
    said = {d for ty in tensors for d in ty.shape.values if isinstance(d, tvm.ir.Var)}
    free = {v for v in relax.analysis.defined_symbolic_vars(func)}
    free |= {v for v in relax.analysis.free_symbolic_vars(func)}
    return free <= said
