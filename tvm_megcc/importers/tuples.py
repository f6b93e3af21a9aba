"""Tuples that a function takes and returns, as the tensors in them: a package has no tuples.

Before: ``f(p: R.Tuple(A, B)) -> R.Tuple(C, R.Tuple(D))``. After: ``f(p.0: A, p.1: B) ->
R.Tuple(C, D)``, whose results are ``output_0`` and ``output_1.0``.

Example
-------
>>> mod = flat(mod, "main")                                             # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relax

from ..errors import InputError


def flat(mod: tvm.IRModule, name: str) -> tvm.IRModule:
    """Replace a function's tuple parameters and tuple results by the tensors in them."""
    func = mod[name]
    if not has_tuples(func):
        return mod
    params, values = _spread_params(func)
    body = func.bind_params(values).body if values else func.body
    ret = _flat_type(func.ret_ty)
    if isinstance(ret, relax.TupleType):
        body = relax.SeqExpr(body.blocks, relax.Tuple(_parts(body.body, func.ret_ty)))
    mod = _with(mod, name, relax.Function(params, body, ret, func.is_pure, func.attrs))
    return relax.transform.CanonicalizeBindings()(relax.transform.Normalize()(mod))


def flat_signature(mod: tvm.IRModule, name: str) -> tvm.IRModule:
    """Give a dispatched function the parameters and results that `flat` would.

    Its variants compute: the body is left out.
    """
    func = mod[name]
    if not has_tuples(func):
        return mod
    params, _ = _spread_params(func)
    ret = _flat_type(func.ret_ty)
    builder = relax.BlockBuilder()
    with builder.function("signature", params):
        call = relax.Call(relax.ExternFunc("signature"), params, ty_args=[ret])
        builder.emit_func_output(builder.emit(call))
    made = builder.get()["signature"].without_attr("global_symbol")
    return _with(mod, name, made.with_attrs(dict(func.attrs)) if func.attrs else made)


def has_tuples(func: relax.Function) -> bool:
    """Whether `flat` changes a function."""
    fields = func.ret_ty.fields if isinstance(func.ret_ty, relax.TupleType) else []
    types = [*(param.ty for param in func.params), *fields]
    return any(isinstance(ty, relax.TupleType) for ty in types)


def result_names(func: relax.Function) -> list[str]:
    """Names of the results that `flat` gives a function."""
    ret = func.ret_ty
    if not isinstance(ret, relax.TupleType):
        return ["output"]
    found = [name for k, ty in enumerate(ret.fields) for name, _ in _leaves(f"output_{k}", ty)]
    return found if len(found) > 1 else ["output"]


def input_count(func: relax.Function, count: int) -> int:
    """Number of tensors in the first `count` parameters."""
    return sum(len(_leaves("", param.ty)) for param in list(func.params)[:count])


def flat_values(func: relax.Function, params: Mapping[str, Any]) -> dict[str, Any]:
    """Values by parameter name, those of tuples as values of the tensors in them."""
    types = {param.name: param.ty for param in func.params}
    found: dict[str, Any] = {}
    for name, value in params.items():
        found |= _flat_value(name, types.get(name), value)
    return found


def _flat_value(name: str, ty: tvm.ir.Type | None, value: Any) -> dict[str, Any]:
    if not isinstance(ty, relax.TupleType):
        return {name: value}
    # A tvm.ir.Array, too, is a sequence, and a numpy array is none.
    if not isinstance(value, Sequence) or len(value) != len(ty.fields):
        given = f"{len(value)}" if isinstance(value, Sequence) else f"a {type(value).__name__}"
        raise InputError(
            f"parameter '{name}' is a tuple of {len(ty.fields)}, its value is {given}; give a list"
            f" of {len(ty.fields)}"
        )
    found: dict[str, Any] = {}
    for k, (field, each) in enumerate(zip(ty.fields, value, strict=True)):
        found |= _flat_value(f"{name}.{k}", field, each)
    return found


def _leaves(name: str, ty: tvm.ir.Type) -> list[tuple[str, tvm.ir.Type]]:
    if not isinstance(ty, relax.TupleType):
        return [(name, ty)]
    return [leaf for k, field in enumerate(ty.fields) for leaf in _leaves(f"{name}.{k}", field)]


def _flat_type(ty: tvm.ir.Type) -> tvm.ir.Type:
    if not isinstance(ty, relax.TupleType):
        return ty
    return relax.TupleType([leaf for _, leaf in _leaves("", ty)])


def _spread_params(
    func: relax.Function,
) -> tuple[list[relax.Var], dict[relax.Var, relax.Expr]]:
    """The parameters after `flat`, and for each tuple parameter the tuple of its tensors."""
    params: list[relax.Var] = []
    values: dict[relax.Var, relax.Expr] = {}

    def spread(name: str, ty: tvm.ir.Type) -> relax.Expr:
        if isinstance(ty, relax.TupleType):
            return relax.Tuple([spread(f"{name}.{k}", f) for k, f in enumerate(ty.fields)])
        params.append(relax.Var(name, ty))
        return params[-1]

    for param in func.params:
        if isinstance(param.ty, relax.TupleType):
            values[param] = spread(param.name, param.ty)
        else:
            params.append(param)
    return params, values


def _parts(expr: relax.Expr, ty: tvm.ir.Type) -> list[relax.Expr]:
    if not isinstance(ty, relax.TupleType):
        return [expr]
    return [
        part
        for k, field in enumerate(ty.fields)
        for part in _parts(relax.TupleGetItem(expr, k), field)
    ]


def _with(mod: tvm.IRModule, name: str, func: relax.Function) -> tvm.IRModule:
    """Replace the function of a name by one whose type may differ."""
    kept = {g: f for g, f in mod.functions_items() if g.name_hint != name}
    return tvm.IRModule({**kept, relax.GlobalVar(name): func}, mod.attrs, mod.global_infos)
