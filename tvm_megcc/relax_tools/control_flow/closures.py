"""Closures: functions whose parameters are all that they use of the function around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tvm
from tvm import relax, tirx
from tvm.relax.utils import copy_with_new_vars

Exprs = Sequence[relax.Expr]


@dataclass(frozen=True, slots=True)
class Captured:
    """Variables that functions use of the one around them, and dims that no variable has."""

    variables: tuple[relax.Var, ...]
    dims: tuple[tirx.Var, ...]

    @property
    def arguments(self) -> list[relax.Expr]:
        return [*self.variables, *([relax.ShapeExpr(list(self.dims))] if self.dims else [])]


_VALUES = (relax.TensorType, relax.TupleType, relax.ShapeType)


def captured(*funcs: relax.Function) -> Captured:
    """Variables and dims that functions use of the one around them."""
    variables: dict[relax.Var, None] = {}
    for func in funcs:
        free = relax.analysis.free_vars(func)  # dims among them
        variables.update(dict.fromkeys(v for v in free if isinstance(v.ty, _VALUES)))
    said = {d for v in variables for d in _defined_by(v.ty)}
    dims: dict[tirx.Var, None] = {}
    for func in funcs:
        own = relax.Function([*func.params, *variables], func.body, func.ret_ty)
        free = relax.analysis.free_symbolic_vars(own)
        dims.update(dict.fromkeys(d for d in free if d not in said))
    return Captured(tuple(variables), tuple(dims))


def _defined_by(ty: relax.Type) -> list[tirx.Var]:
    """Variables that are whole extents of a tensor's or a shape's type."""
    values = getattr(getattr(ty, "shape", None), "values", None) or getattr(ty, "values", None)
    return [d for d in values or () if isinstance(d, tvm.ir.Var)]


def undefined(
    given: Sequence[relax.Type], types: Sequence[relax.TensorType]
) -> tuple[tirx.Var, ...]:
    """Dims of `types` that none of the `given` types has."""
    said = {d for ty in given for d in _defined_by(ty)}
    wanted: dict[tirx.Var, None] = {}
    for ty in types:
        for dim in ty.shape.values:
            wanted.update(dict.fromkeys(tirx.analysis.undefined_vars(tirx.Evaluate(dim))))
    return tuple(d for d in wanted if d not in said)


def closed(func: relax.Function, around: Captured) -> relax.Function:
    """Add the captured variables and dims to a function's parameters."""
    given = [relax.Var(v.name, v.ty) for v in around.variables]
    # A dataflow variable cannot be a parameter: in the function it is bound to one.
    named = [relax.VarBinding(v, p) for v, p in zip(around.variables, given, strict=True)]
    blocks = list(func.body.blocks) or [relax.DataflowBlock([])]
    blocks[0] = relax.DataflowBlock([*named, *blocks[0].bindings])
    if around.dims:
        given.append(relax.Var("sizes", relax.ShapeType(list(around.dims))))
    body = relax.SeqExpr(blocks, func.body.body)
    return copy_with_new_vars(relax.Function([*func.params, *given], body, func.ret_ty))


def function_of(
    types: Sequence[relax.Type],
    body: Callable[[relax.BlockBuilder, Exprs], relax.Expr],
) -> relax.Function:
    """Make a function with parameters of these types and symbolic dims of its own."""
    params = [relax.Var(f"p{k}", ty) for k, ty in enumerate(types)]
    inner = relax.BlockBuilder()
    with inner.function("made", params):
        inner.emit_func_output(inner.normalize(body(inner, params)))
    return copy_with_new_vars(inner.get()["made"].without_attr("global_symbol"))


def sequence(
    builder: relax.BlockBuilder, body: Callable[[relax.BlockBuilder], relax.Expr]
) -> relax.SeqExpr:
    """Collect the bindings that `body` emits in an expression of their own."""
    builder._begin_binding_block()
    result = builder.normalize(body(builder))
    if not isinstance(result, relax.Var):
        result = builder.emit(result)
    return relax.SeqExpr([builder._end_block()], result)
