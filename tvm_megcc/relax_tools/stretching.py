"""What broadcasting makes of open dims that may turn out to be 1, for frontend, passes and lower.

`size` gives the dim that two dims become a name: to TVM it is a dim like any other, and only the
package and ``relax.VirtualMachine`` compute it. `copy` brings a tensor to such dims: the one
element of an axis of 1 is everywhere.

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
    """A new dim, which is `b` where `a` is 1, else `a`; `node` is what messages say."""
    both = relax.ShapeExpr([tvm.runtime.convert(a), tvm.runtime.convert(b)])
    call = relax.op.call_pure_packed(SIZE, both, ty_args=relax.ShapeType(ndim=1))
    found = tirx.Var(name, "int64")
    builder.match_cast(builder.emit(call), relax.ShapeType([found]), node)
    return found


def parts_of(expr: relax.Expr | None) -> tuple[Any, Any] | None:
    """The two dims of which `size` makes one; None for any other expression."""
    if expr is None or packed_name(expr) != SIZE:
        return None
    a, b = expr.args[1].values
    return a, b


def copy(builder: relax.BlockBuilder, value: relax.Expr, dims: Mapping[int, Any]) -> relax.Expr:
    """The tensor with these dims on some axes: each is the tensor's own one where that is not 1."""
    have = value.ty.shape.values
    func = _function(str(value.ty.dtype), len(have), dims)
    callee = builder.add_func(func.with_attr(COPIES, 1), "stretched")
    shape = [dims.get(k, n) for k, n in enumerate(have)]
    return builder.emit(relax.call_tir(callee, (value,), relax.TensorType(shape, value.ty.dtype)))


def copied(mod: tvm.IRModule, expr: relax.Expr) -> relax.Expr | None:
    """The tensor that `copy` stretches; None for any other expression."""
    if op_name(expr) != "relax.call_tir":
        return None
    attrs = mod[expr.args[0]].attrs
    return expr.args[1].fields[0] if attrs and COPIES in attrs else None


def _function(dtype: str, rank: int, axes: Collection[int]) -> tirx.PrimFunc:
    """The copy for a rank, stretched on some axes: every dim is a parameter of its own."""
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
