"""TIR of operators has the element type of the call.

TVM's legalisers compute in a common type of their operands, or in that of sums and counts:
`topi.image.grid_sample` of an f16 image and an f32 grid gives f32, an average of i32 gives i64.
Readers would take these bytes for other numbers, so such results are cast to the call's type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias

import tvm
from tvm import relax, topi

from tvm_megcc.relax_tools.calls import op_name

Legaliser: TypeAlias = Callable[[relax.BlockBuilder, relax.Call], relax.Expr]


@cache
def _tvms() -> dict[str, Legaliser]:
    """TVM's own legalisers, by the operator's name."""
    names = [name for name in tvm.ir.Op.list_op_names() if name.startswith("relax.")]
    found = {name: tvm.ir.Op.get(name).get_attr("FLegalize") for name in names}
    return {name: function for name, function in found.items() if function is not None}


def typed(own: Mapping[str, Legaliser]) -> dict[str, Legaliser]:
    """Legalisers of TVM and `own` ones, for ``LegalizeOps``; results have the calls' types."""
    return {name: _typed(function) for name, function in {**_tvms(), **own}.items()}


def _typed(function: Legaliser) -> Legaliser:
    def legalise(bb: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        made = function(bb, call)
        if op_name(made) != "relax.call_tir" or _is_like(made.ty_args[0], call.ty):
            return made
        return _cast(bb, bb.emit(made), call.ty)

    return legalise


def _is_like(found: relax.Type, wanted: relax.Type) -> bool:
    """Whether two tensors or tuples have the same element types."""
    if isinstance(wanted, relax.TupleType):
        return all(map(_is_like, found.fields, wanted.fields))
    return str(found.dtype) == str(wanted.dtype)


def _cast(bb: relax.BlockBuilder, value: relax.Var, wanted: relax.Type) -> relax.Expr:
    if isinstance(wanted, relax.TupleType):
        fields = [bb.emit(relax.TupleGetItem(value, k)) for k in range(len(wanted.fields))]
        cast = [_cast(bb, *pair) for pair in zip(fields, wanted.fields, strict=True)]
        return relax.Tuple([bb.emit(field) for field in cast])
    if _is_like(value.ty, wanted):
        return value
    return bb.call_te(topi.cast, value, str(wanted.dtype), primfunc_name_hint="cast")
