"""NameSizes: each size that is an expression becomes a dim of its own while kernels are generated.

Before: ``x: R.Tensor((batch, samples // 5 - 1, 64))``. After: ``x: R.Tensor((batch, size0, 64))``,
in a function with one more parameter, ``sizes: R.Shape([size0])``. Equal sizes have equal names,
which is how TVM knows that operators can be fused, and a generated kernel computes indices with
``size0``, not with divisions. The function's attribute says what each name stands for
(`shape_exprs.DEFINITIONS`), so that `symbols_of` proves and bounds as before. WriteSizes undoes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.sym import Analyzer

from tvm_megcc.dims import Dim, Size, as_symbol
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.control_flow import called_by, plain_functions
from tvm_megcc.relax_tools.rewriting import module_pass, with_bindings, with_functions
from tvm_megcc.relax_tools.shape_exprs import (
    DEFINITIONS,
    Symbols,
    definitions_of,
    prim_of,
    size_of,
    symbols_of,
    variables_of,
)

#: How names of sizes begin.
NAME = "size"
#: Expressions that may be a size; variables and numbers stay.
_EXPRESSIONS = (
    tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.FloorDiv, tirx.FloorMod, tirx.Min, tirx.Max,
    tirx.Cast, tirx.Select,
)  # fmt: skip


@module_pass("tvm_megcc.NameSizes")
def NameSizes(mod: tvm.IRModule) -> tvm.IRModule:
    """Name the sizes of every function that neither calls functions nor is called."""
    functions = dict(plain_functions(mod))
    calls = {gvar: called_by(mod, [gvar.name_hint]) for gvar in functions}
    called = {name for names in calls.values() for name in names}
    alone = {g: f for g, f in functions.items() if not calls[g] and g.name_hint not in called}
    return with_functions(mod, {gvar: _named(func, mod) for gvar, func in alone.items()})


@module_pass("tvm_megcc.WriteSizes")
def WriteSizes(mod: tvm.IRModule) -> tvm.IRModule:
    """Write sizes as expressions again, in place of the names that NameSizes gave them."""
    return with_functions(mod, {gvar: _written(func) for gvar, func in plain_functions(mod)})


def _named(func: relax.Function, mod: tvm.IRModule) -> relax.Function:
    symbols = symbols_of(func)
    variables = variables_of(func)
    fresh = (name for k in count() if (name := f"{NAME}{k}") not in variables)
    names: dict[Size, tirx.Var] = {}
    for expr in _dims(func):
        size = size_of(expr, symbols)
        if isinstance(size, Dim) and size not in names and as_symbol(size) is None:
            names[size] = tirx.Var(next(fresh), "int64")
    while names:
        sizes = relax.Var("sizes", relax.ShapeType(list(names.values())))
        made = _with_checks(_with(func, sizes, _namer(names, symbols), "pre"), func)
        lost = _lost(made) | _held_by_kernels(made, mod)
        kept = {size: var for size, var in names.items() if var not in lost}
        if len(kept) == len(names):
            written = {var.name: prim_of(size, variables) for size, var in names.items()}
            return made.with_attr(DEFINITIONS, written)
        names = kept
    return func


def _lost(func: relax.Function) -> set[tvm.ir.Var]:
    """Dims of calls whose type TVM does not infer of named sizes, though it is that of the call.

    ``strided_slice`` from ``size0`` to ``size1`` has ``size1 - size0`` elements for TVM, where
    ``n // 2 + 1`` and ``n // 2 + 2`` give 1. TVM infers types anew while it legalises.
    """
    found: set[tvm.ir.Var] = set()
    builder, analyzer = relax.BlockBuilder(), Analyzer()
    for call in _calls(func):
        again = relax.Call(call.op, call.args, call.attrs, call.ty_args)
        wanted, inferred = (list(_dims_of(ty)) for ty in (
            call.ty, builder.normalize(again).ty))  # fmt: skip
        if len(wanted) != len(inferred) or not all(map(analyzer.can_prove_equal, wanted, inferred)):
            alone = relax.Function([], relax.SeqExpr([], call), call.ty)
            found |= {*relax.analysis.free_symbolic_vars(alone)}
            for dim in (*wanted, *inferred):
                found |= {*tirx.analysis.undefined_vars(dim)}
    return found


def _held_by_kernels(func: relax.Function, mod: tvm.IRModule) -> set[tvm.ir.Var]:
    """Dims for which a TIR function that is there already has an expression in its buffers."""
    found: set[tvm.ir.Var] = set()
    for call in _calls(func):
        if op_name(call) != "relax.call_tir":
            continue
        results = call.ty.fields if isinstance(call.ty, relax.TupleType) else [call.ty]
        given = [*(operand.ty for operand in call.args[1].fields), *results]
        for outer, param in zip(given, mod[call.args[0]].params, strict=True):
            own = getattr(param.ty, "shape", ())  # none of a number
            for dim, inner in zip(_dims_of(outer), own, strict=False):
                if isinstance(dim, tvm.ir.Var) and isinstance(inner, _EXPRESSIONS):
                    found.add(dim)
    return found


def _calls(func: relax.Function) -> Iterator[relax.Call]:
    """Calls of operators to which a function binds variables without a cast."""
    for block in func.body.blocks:
        for value in (b.value for b in block.bindings if isinstance(b, relax.VarBinding)):
            if isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.Op):
                yield value


def _with_checks(named: relax.Function, func: relax.Function) -> relax.Function:
    """`named`, whose casts check the expressions of `func`.

    FuseTIR (TVM 0.27) takes a cast to a dim for the dim's definition, and the check goes.
    """

    before = (binding for block in func.body.blocks for binding in block.bindings)

    def checking(binding: relax.Binding) -> relax.Binding:
        old = next(before)
        if isinstance(binding, relax.MatchCast):
            return relax.MatchCast(binding.var, binding.value, old.ty)
        return binding

    return with_bindings(named, checking)


def _dims(func: relax.Function) -> Iterator[Any]:
    """Expressions that are dims of the tensors which a function computes."""
    for block in func.body.blocks:
        for binding in block.bindings:
            yield from (d for d in _dims_of(binding.var.ty) if isinstance(d, _EXPRESSIONS))


def _dims_of(ty: relax.Type) -> Iterator[Any]:
    """Dims of a tensor, or of the tensors of a tuple; none of a tensor without known shape."""
    if isinstance(ty, relax.TupleType):
        for field in ty.fields:
            yield from _dims_of(field)
    elif isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr):
        yield from ty.shape.values


def _namer(names: Mapping[Size, tirx.Var], symbols: Symbols) -> tuple[Any, ...]:
    """The rewrite of an expression that is a size to the size's name."""

    def replace(expr: Any) -> Any:
        size = size_of(expr, symbols)
        return expr if size is None else names.get(size, expr)

    return _EXPRESSIONS, replace


def _written(func: relax.Function) -> relax.Function:
    found = definitions_of(func, symbols_of(func))
    if not found:
        return func
    variables = variables_of(func)
    values = {variables[name]: prim_of(size, variables) for name, size in found.items()}
    rewrite = tvm.ir.Var, lambda var: values.get(var, var)
    return _with(func.without_attr(DEFINITIONS), None, rewrite, "post")


def _with(
    func: relax.Function, sizes: relax.Var | None, rewrite: tuple[Any, ...], order: str
) -> relax.Function:
    """A function with its sizes rewritten, and the parameter `sizes` added or the last one dropped.

    Relax forgets a result's dims that no parameter has, so the type of the result is kept apart.
    """
    made = tvm_ffi.structural_map(func, rewrite, order=order)
    result = tvm_ffi.structural_map(func.ret_ty, rewrite, order=order)
    params = made.params[:-1] if sizes is None else [*made.params, sizes]
    return relax.Function(params, made.body, result, made.is_pure, made.attrs)
