"""Broadcasting of dynamic dims that may be 1 in a run, for frontend, passes and lower.

`size` names the dim that two dims broadcast to. To TVM it is any dim; the package and
``relax.VirtualMachine`` compute it. `copy` broadcasts a tensor to such dims.

Example
-------
>>> m = size(builder, n, k, "m", "Add__sum")                            # doctest: +SKIP
>>> y = copy(builder, x, {0: m})        # x: [n, 3], n is 1 or m        # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

import tvm
from tvm import relax, te, tirx

from tvm_megcc.relax_tools.calls import op_name, packed_name

#: Attribute of the functions that copy.
COPIES = "tvm_megcc.stretched"
#: Name of the function that TVM's VM calls for a size.
SIZE = "tvm_megcc.stretched_size"


def size(builder: relax.BlockBuilder, a: Any, b: Any, name: str, node: str) -> tirx.Var:
    """Define a dim that is `b` where `a` is 1, else `a`; messages name `node`."""
    both = relax.ShapeExpr([tvm.runtime.convert(a), tvm.runtime.convert(b)])
    call = relax.op.call_pure_packed(SIZE, both, ty_args=relax.ShapeType(ndim=1))
    found = tirx.Var(name, "int64")
    builder.match_cast(builder.emit(call), relax.ShapeType([found]), node)
    return found


def parts_of(expr: relax.Expr | None) -> tuple[Any, Any] | None:
    """The two dims of a call of `size`; None for any other expression."""
    if expr is None or packed_name(expr) != SIZE:
        return None
    a, b = expr.args[1].values
    return a, b


def copy(builder: relax.BlockBuilder, value: relax.Expr, dims: Mapping[int, Any]) -> relax.Expr:
    """Broadcast a tensor to `dims` on some axes, which are 1 or have these sizes."""
    have = value.ty.shape.values
    func = _function(str(value.ty.dtype), len(have), dims)
    callee = builder.add_func(func.with_attr(COPIES, 1), "stretched")
    shape = [dims.get(k, n) for k, n in enumerate(have)]
    return builder.emit(relax.call_tir(callee, (value,), relax.TensorType(shape, value.ty.dtype)))


def copied(mod: tvm.IRModule, expr: relax.Expr) -> relax.Expr | None:
    """The tensor that a call of `copy` broadcasts; None for any other expression."""
    if op_name(expr) != "relax.call_tir":
        return None
    attrs = mod[expr.args[0]].attrs
    return expr.args[1].fields[0] if attrs and COPIES in attrs else None


def _function(dtype: str, rank: int, axes: Collection[int]) -> tirx.PrimFunc:
    """TIR function that broadcasts `axes` of a tensor; every dim is a parameter of its own."""
    have = [tirx.Var(f"n{k}", "int64") for k in range(rank)]
    made = [tirx.Var(f"m{k}", "int64") if k in axes else n for k, n in enumerate(have)]
    data = te.placeholder(have, dtype, "data")
    one = tirx.const(1, "int64")

    def element(*at: Any) -> Any:
        return data(*(tirx.Select(n == one, i * 0, i) if k in axes else i
                      for k, (n, i) in enumerate(zip(have, at, strict=True))))  # fmt: skip

    out = te.compute(made, element, name="stretched")
    func = te.create_prim_func([data, out], index_dtype_override="int64")
    return func.without_attr("global_symbol")


@cache
def register() -> None:
    """Make the function known to TVM, for modules that run in ``relax.VirtualMachine``."""

    def run(dims: Any) -> Any:
        a, b = (int(d) for d in dims)
        return tvm.runtime.ShapeTuple([b if a == 1 else a])

    tvm.register_global_func(SIZE, run)
