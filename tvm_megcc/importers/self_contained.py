"""Bring a Relax module into the form that the pipeline takes, or say what is in the way.

Enters: an ``IRModule`` and the name of its entry. Leaves: the entry, and its variants where it is
dispatched, with the functions that these call in the place of their calls. Their parameters and
results are tensors of types that kernels compute with, and they call nothing outside of the module.

Example
-------
>>> mod = self_contained(mod, "forward")                                # doctest: +SKIP
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import tvm
from tvm import relax, tirx

from tvm_megcc.core.dtypes import of_numpy
from tvm_megcc.importers.checked_indices import with_checked_indices
from tvm_megcc.importers.tuples import flat, flat_signature
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.checks import CHECKED
from tvm_megcc.relax_tools.control_flow import called_by, region_of
from tvm_megcc.relax_tools.draws import DRAWN
from tvm_megcc.relax_tools.exprs import expressions
from tvm_megcc.relax_tools.int8_rows import ALLOWED
from tvm_megcc.relax_tools.shape_exprs import (
    bounds_of,
    multiples_of,
    with_bounds,
    with_multiples,
)

from ..dims import Multiple
from ..errors import InputError, UnsupportedError

#: How a module calls what the package's user supplies in C (`passes.externs`).
SUPPLIED = "relax.call_dps_packed"

#: Operators that call a function by its name, which is their first argument.
_BY_NAME = {
    SUPPLIED,
    "relax.call_inplace_packed",
    "relax.call_pure_packed",
}

#: Functions of ours that imported models call; in a package they are steps of the VM.
_OWN = {CHECKED, DRAWN, ALLOWED}

#: Operators whose result is as large as the data says; Relax itself gives it no dims.
_OF_DATA_SIZE = {"relax.nonzero", "relax.unique"}


def self_contained(mod: tvm.IRModule, entry: str, variants: Sequence[str] = ()) -> tvm.IRModule:
    """Extract what an entry needs of `mod`, in the form that the pipeline takes.

    `variants` are the functions of a dispatched entry, which is there for its signature only.

    Raises
    ------
    InputError
        A function calls itself, or one outside of the module, or a parameter or a result of it is
        no tensor.
    UnsupportedError
        An operator or an element type that a package has no code for.
    """
    compiled = list(variants) or [entry]
    for name in compiled:
        mod = _dims_apart(flat(_inlined(mod, name), name), name)
        mod[name] = with_checked_indices(mod, name)
        func = mod[name]
        for param in func.params:
            if not isinstance(param.ty, relax.TensorType):
                raise InputError(
                    f"parameter '{param.name}' of {name} is {_kind(param.ty)}; a model takes"
                    " tensors and tuples of them"
                )
        ret = func.ret_ty
        for number, ty in enumerate(ret.fields if isinstance(ret, relax.TupleType) else [ret]):
            if not isinstance(ty, relax.TensorType):
                raise InputError(
                    f"result {number} of {name} is {_kind(ty)}; a model returns tensors and tuples"
                    " of them"
                )
    if variants:
        mod = flat_signature(mod, entry)
    kept = {*compiled, *called_by(mod, compiled)}
    for gvar, func in mod.functions_items():
        if gvar.name_hint in kept:
            for expr in expressions(func):
                _check(expr, gvar.name_hint)
    functions = {
        g: f
        for g, f in mod.functions_items()
        if not isinstance(f, relax.Function) or g.name_hint in {entry, *kept}
    }
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def _kind(ty: tvm.ir.Type) -> str:
    for cls, words in (
        (relax.TupleType, "a tuple"),
        (relax.ShapeType, "a shape"),
        (relax.FuncType, "a function"),
    ):
        if isinstance(ty, cls):
            return words
    return "no tensor"


def _check(expr: relax.Expr, where: str) -> None:
    """Refuse an expression that no package can hold or run."""
    ty = getattr(expr, "ty", None)
    if isinstance(ty, relax.TensorType):
        row = of_numpy(str(ty.dtype)) if ty.dtype else None
        if ty.dtype and (row is None or row.is_storage):
            raise UnsupportedError(
                f"a tensor of {where} is {ty.dtype}, which no kernel can hold; cast it to another"
                " type"
            )
    if not isinstance(expr, relax.Call):
        return
    name = op_name(expr)
    if name in _OF_DATA_SIZE:
        raise UnsupportedError(
            f"{name} in {where}: only the data says how large its result is; import the model from"
            " ONNX, or compute with a mask"
        )
    called = expr.args[0] if name in _BY_NAME else expr.op
    if not isinstance(called, relax.ExternFunc) or called.global_symbol in _OWN:
        return
    if name != SUPPLIED:
        raise InputError(
            f"{where} calls '{called.global_symbol}', a function outside of the module, which"
            " returns memory of its own; write it with Relax operators, as a PrimFunc, or as a"
            " function in C that R.call_dps_packed calls"
        )


def _dims_apart(mod: tvm.IRModule, name: str) -> tvm.IRModule:
    """Rename dims of a function that share a name: the pipeline tells dims apart by their names."""
    func = mod[name]
    taken: set[str] = set()
    renamed: dict[tirx.Var, tirx.Var] = {}
    known, multiples = bounds_of(func), multiples_of(func)
    kept: dict[str, Multiple] = {}
    bounds = []
    for variable in _dims(func):
        old = str(variable.name)
        new = next(n for k in itertools.count() if (n := f"{old}_{k}" if k else old) not in taken)
        taken.add(new)
        if new != old:
            renamed[variable] = tirx.Var(new, "int64")
            bounds += [dataclasses.replace(known[old], name=new)] if old in known else []
            kept |= {new: multiples[old]} if old in multiples else {}
    if not renamed:
        return mod
    mod = tvm.IRModule(dict(mod.functions_items()), mod.attrs, mod.global_infos)
    func = func.bind_symbolic_vars(renamed)
    func = with_multiples(func, kept)
    mod[name] = with_bounds(func, bounds) if bounds else func
    return mod


def _dims(func: relax.Function) -> list[tirx.Var]:
    """The symbolic dims of a function in a fixed order, those of the parameters first."""
    shapes = [getattr(e.ty, "shape", None) for e in [*func.params, *expressions(func)]]
    dims = [d for s in shapes if isinstance(s, relax.ShapeExpr) for d in s.values]
    found = dict.fromkeys(d for d in dims if isinstance(d, tirx.Var))
    return list(found | dict.fromkeys(relax.analysis.defined_symbolic_vars(func)))


# ---- calls of functions of the module ------------------------------------------------------------


def _inlined(mod: tvm.IRModule, entry: str) -> tvm.IRModule:
    """Inline the functions of the module that a function calls."""
    func = mod[entry]
    if not _called(mod, func):
        return mod
    for name in sorted({entry, *_reached(mod, entry)}):
        if name in _reached(mod, name):
            raise InputError(f"function '{name}' of the module calls itself; unroll it")
    while found := _called(mod, func):
        func = func.inline_functions({name: mod[name] for name in found})
    mod = tvm.IRModule(dict(mod.functions_items()), mod.attrs)
    mod[entry] = func
    return relax.transform.Normalize()(mod)


def _called(mod: tvm.IRModule, func: relax.Function) -> list[str]:
    """Names of the functions of the module that a function calls, but for branches and loops."""
    calls = (e.op for e in expressions(func) if isinstance(e, relax.Call))
    names = {g.name_hint: mod[g] for g in calls if isinstance(g, tvm.ir.GlobalVar)}
    return sorted(
        name
        for name, callee in names.items()
        if isinstance(callee, relax.Function) and region_of(callee) is None
    )


def _reached(mod: tvm.IRModule, name: str) -> set[str]:
    """Names of all functions that a function calls, directly or through others."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = set(_called(mod, mod[waiting.pop()])) - found
        found |= new
        waiting += new
    return found
