"""What becomes TIR has the element type that its operator has.

TVM's legalisers compute in whatever type their operands have together: of an image in f16 and a
grid in f32 `topi.image.grid_sample` makes f32, in place of the f16 that the call is. What reads
such a result, or the model's user, would take its bytes for other numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

import tvm
from tvm import relax

from tvm_megcc.relax_tools.calls import op_name

Legaliser: TypeAlias = Callable[[relax.BlockBuilder, relax.Call], relax.Expr]


@cache
def _tvms() -> dict[str, Legaliser]:
    """TVM's own, by the operator's name."""
    names = [name for name in tvm.ir.Op.list_op_names() if name.startswith("relax.")]
    found = {name: tvm.ir.Op.get(name).get_attr("FLegalize") for name in names}
    return {name: function for name, function in found.items() if function is not None}


def typed(own: Mapping[str, Legaliser]) -> dict[str, Legaliser]:
    """TVM's legalisers and our `own`, for `relax.transform.LegalizeOps`; each of them is watched.

    A result of another type ends the compilation with an ``AssertionError``.
    """
    return {name: _typed(name, function) for name, function in {**_tvms(), **own}.items()}


def _typed(name: str, function: Legaliser) -> Legaliser:
    def legalise(bb: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
        made = function(bb, call)
        if op_name(made) == "relax.call_tir":
            found, wanted = _dtypes(made.ty_args[0]), _dtypes(call.ty)
            assert found == wanted, f"{name} became {found} instead of {wanted}"
        return made

    return legalise


def _dtypes(ty: relax.Type) -> list[Any]:
    """The element types of a tensor, or of the tensors of a tuple."""
    if isinstance(ty, relax.TupleType):
        return [_dtypes(field) for field in ty.fields]
    return [str(ty.dtype)]
