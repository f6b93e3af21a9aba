"""A Relax module, whoever made it -> an `ImportedModel`, as ONNX models become one.

Enters: a module of TVM's importers or of a user's text, with names for its ports. Leaves: a module
with a function ``main`` of tensors, its dims as the user wants them, and its inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relax, tirx

from tvm_megcc.core.dtypes import of_numpy
from tvm_megcc.relax_tools.shape_exprs import (
    base_of,
    bounds_of,
    name_of_multiple,
    symbols_of,
    variables_of,
    with_bounds,
    with_multiples,
)

from ..dims import GivenDim
from ..errors import InputError, UnsupportedError
from ..frontend import ImportedModel, InputInfo
from ..frontend.importer import output_infos
from ..frontend.input_shapes import bind
from ..frontend.values import identifier
from .parameters import bound
from .self_contained import self_contained
from .tuples import flat_values, input_count, result_names

Shapes = Mapping[str, Sequence[GivenDim]]

#: Attributes of TVM's importers that repeat what the function holds.
_REDUNDANT = ("params", "num_input")


def from_module(
    mod: tvm.IRModule,
    shapes: Shapes | None = None,
    *,
    name: str,
    where: str,
    params: Mapping[str, Any] | None = None,
    input_names: Sequence[str] = (),
    output_names: Sequence[str] = (),
) -> ImportedModel:
    """Make a model of the function ``main``, or of the only one that there is.

    Parameters
    ----------
    shapes : mapping of input name to dims, optional
        See `tvm_megcc.frontend.from_onnx`. What is no symbolic dim in the module stays as it is.
    name, where : str
        The model's name, and what errors call it.
    params : mapping of str to array, optional
        Values of parameters, which are no inputs then.
    input_names, output_names : sequence of str, optional
        By default the parameters' names, and ``output`` or ``output_0``, ``output_1``, ...

    Raises
    ------
    tvm_megcc.errors.MegccError
        The module has no such function or one that cannot be compiled, or a value or a shape does
        not fit it.
    """
    entry = _entry(mod, where)
    func = mod[entry]
    count = input_count(func, int((func.attrs or {}).get("num_input", len(func.params))))
    known = [param.name for param in func.params]
    for given in params or {}:
        if given not in known:
            raise InputError(f"{where} has no parameter '{given}'; they are {', '.join(known)}")
    values = flat_values(func, params or {})
    names = result_names(func)
    mod = bound(self_contained(mod, entry), entry, values, count)
    func = mod[entry]
    ports = list(input_names) or [param.name for param in func.params]
    outputs = _distinct(output_names or names)
    assert len(ports) == len(func.params) and len(outputs) == len(names), (ports, outputs)
    inputs = _inputs(func, ports, shapes or {})
    mod = _as_main(mod, entry, _with_shapes(func, ports, inputs))
    mod = relax.transform.CanonicalizeBindings()(relax.transform.Normalize()(mod))
    mod = relax.transform.DeadCodeElimination()(mod)
    found = output_infos(mod, outputs, {}, symbols_of(mod["main"]))
    return ImportedModel(mod, inputs, found, name)


def _entry(mod: tvm.IRModule, where: str) -> str:
    names: list[str] = [
        g.name_hint for g, func in mod.functions_items() if isinstance(func, relax.Function)
    ]
    public = [n for n in names if mod[n].attrs and "global_symbol" in mod[n].attrs]
    if "main" in names:
        return "main"
    if len(public or names) == 1:
        return (public or names)[0]
    have = f"has the functions {', '.join(sorted(names))}" if names else "has no Relax function"
    raise InputError(f"{where} {have}; name the one that is the model main")


def _distinct(names: Sequence[str]) -> list[str]:
    """Make names distinct by numbers behind repeated ones."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name}_{k}" if k else name for k in range(len(names) + len(found) + 1))
        found.append(next(n for n in numbered if n not in found))
    return found


def _inputs(func: relax.Function, names: Sequence[str], shapes: Shapes) -> tuple[InputInfo, ...]:
    """The parameters as inputs, with the user's dims."""
    declared: dict[str, tuple[str, list[int | str]]] = {}
    for port, param in zip(names, func.params, strict=True):
        if not isinstance(param.ty.shape, relax.ShapeExpr) or not param.ty.dtype:
            raise UnsupportedError(
                f"input '{port}' is {param.ty}, without dims or a type; give it both, with a"
                " symbolic dim for a size that changes"
            )
        row = of_numpy(str(param.ty.dtype))
        assert row is not None, param  # `self_contained` refuses what is none of our types
        dims = [int(d) if isinstance(d, tirx.IntImm) else str(d) for d in param.ty.shape.values]
        declared[port] = row.name, dims
    inputs = bind(declared, shapes, bounds_of(func))
    plain = set(variables_of(func))
    for info in inputs:
        for axis, (old, new) in enumerate(zip(declared[info.name][1], info.shape, strict=True)):
            if isinstance(old, str) and old not in plain and new != old:
                raise InputError(
                    f"input '{info.name}': dim {axis} is {old} in the model, which {new} says"
                    " nothing of; give the dims that it is made of"
                )
    return inputs


def _with_shapes(
    func: relax.Function, names: Sequence[str], inputs: Sequence[InputInfo]
) -> relax.Function:
    """Give a function the dims and bounds of its inputs, and parameters names that are identifiers.

    A parameter whose dim is a multiple, such as ``32*h``, is cast to it.
    """
    variables = variables_of(func)
    named = {str(m): (name_of_multiple(m), m) for info in inputs for m in info.multiples}
    multiples = dict(named.values())
    values: dict[tirx.Var, Any] = {}
    whole: dict[str, tirx.Var] = {}

    def known(dim: str) -> Any:
        if dim not in named:
            return variables.setdefault(dim, tirx.Var(dim, "int64"))
        name, multiple = named[dim]
        whole[dim] = variables.setdefault(name, tirx.Var(name, "int64"))
        variables.setdefault(multiple.of.name, base_of(multiple, whole[dim]))
        return variables[multiple.of.name] * tirx.IntImm("int64", multiple.factor)

    # Names that stand alone first: multiples are written in terms of them.
    every = [
        (old, new)
        for param, info in zip(func.params, inputs, strict=True)
        for old, new in zip(param.ty.shape.values, info.shape, strict=True)
    ]
    for old, new in sorted(every, key=lambda pair: pair[1] in named):
        if not isinstance(old, tirx.Var) or str(old.name) == new:
            continue
        values[old] = known(new) if isinstance(new, str) else tirx.IntImm("int64", new)
    if values:  # TVM takes no dims but those of parameters
        free = relax.Var("free", relax.ShapeType(list(whole.values())))
        defining = [*func.params, free] if whole else list(func.params)
        func = relax.Function(defining, func.body, func.ret_ty, func.is_pure, func.attrs)
        func = func.bind_symbolic_vars(values)
    old_params = list(func.params)[: len(names)]
    taken = _distinct([identifier(port) for port in names])
    params: list[relax.Var] = []
    inside: list[relax.Var] = []
    casts: list[relax.Binding] = []
    for name, param, info in zip(taken, old_params, inputs, strict=True):
        dims = [
            whole[new] if new in whole else dim
            for dim, new in zip(param.ty.shape.values, info.shape, strict=True)
        ]
        params.append(relax.Var(name, relax.TensorType(dims, param.ty.dtype)))
        inside.append(params[-1])
        if any(new in whole for new in info.shape):
            inside[-1] = relax.Var(name, param.ty)
            casts.append(relax.MatchCast(inside[-1], params[-1], param.ty))
    body = func.bind_params(dict(zip(old_params, inside, strict=True))).body
    if casts:
        body = relax.SeqExpr([relax.BindingBlock(casts), *body.blocks], body.body)
    attrs = {k: v for k, v in dict(func.attrs or {}).items() if k not in _REDUNDANT}
    made = relax.Function(params, body, func.ret_ty, func.is_pure)
    made = made.with_attrs({**attrs, "global_symbol": "main"})
    symbols = [symbol for info in inputs for symbol in info.symbols]
    made = with_multiples(made, multiples)
    return with_bounds(made, symbols) if symbols else made


def _as_main(mod: tvm.IRModule, entry: str, func: relax.Function) -> tvm.IRModule:
    kept = {g: f for g, f in mod.functions_items() if g.name_hint not in (entry, "main")}
    return tvm.IRModule({**kept, relax.GlobalVar("main"): func}, mod.attrs, mod.global_infos)
