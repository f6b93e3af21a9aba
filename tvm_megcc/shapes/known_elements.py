"""The known elements of a vector that is computed at run time.

Exporters concatenate shapes, ``Concat(Shape(x)[:2], sizes)``, of which only the unknown elements
have to be read. Enters: a vector. Leaves: for each of its elements a size, a number, or None.
"""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm import relax

from tvm_megcc.dims import Size
from tvm_megcc.relax_tools.calls import op_name
from tvm_megcc.relax_tools.shape_exprs import size_of

from .builder import ShapeBuilder

Element = Size | float | None


def elements(ctx: ShapeBuilder, vector: relax.Expr) -> list[Element]:
    """The elements of a vector (or scalar) of static length, None for each unknown element."""
    count = (ctx.static_shape(vector) or (1,))[0]
    found = _found(ctx, vector)
    return found if found is not None and len(found) == count else [None] * count


def picked(ctx: ShapeBuilder, vector: relax.Expr, positions: Sequence[int]) -> relax.Expr:
    """The elements of a vector at these positions; the vector itself if these are all."""
    if list(positions) == list(range(ctx.static_shape(vector)[0])):
        return vector
    return ctx.emit(relax.op.take(vector, ctx.const(list(positions), "int64"), axis=0))


def _found(ctx: ShapeBuilder, expr: relax.Expr) -> list[Element] | None:
    value = _bound(ctx, expr)
    if isinstance(value, tvm.ir.GenericConst):
        array = value.data.numpy() if hasattr(value, "data") else value.value.numpy()
        return list(array.reshape(-1).tolist())
    if not isinstance(value, relax.Call):
        return None
    name = op_name(value)
    if name == "relax.concat":
        fields = _bound(ctx, value.args[0])
        return _joined(ctx, fields.fields) if isinstance(fields, relax.Tuple) else None
    if name == "relax.reshape":
        return _found(ctx, value.args[0])
    if name == "relax.astype" and "int" in str(value.args[0].ty.dtype):
        return _found(ctx, value.args[0])
    if name == "relax.arange":  # of one size: `Context.sizes`
        start, end = (size_of(getattr(v, "value", v), ctx.symbols) for v in value.args[:2])
        return [start] if start is not None and end is not None and end - start == 1 else None
    return None


def offset_of(ctx: ShapeBuilder, vector: relax.Expr) -> tuple[relax.Expr, int] | None:
    """A vector (or scalar) of one element as another value and a constant added to it.

    ``i + 1`` is ``(i, 1)``: a slice from ``i`` to there has at most one element. None for other
    expressions.
    """
    value = _bound(ctx, vector)
    if not isinstance(value, relax.Call):
        return vector, 0
    name = op_name(value)
    if name in ("relax.add", "relax.subtract"):
        for side in (0, 1) if name == "relax.add" else (1,):
            number = _found(ctx, value.args[side])
            if number is not None and len(number) == 1 and isinstance(number[0], int):
                other = offset_of(ctx, value.args[1 - side])
                more = number[0] if name == "relax.add" else -number[0]
                return None if other is None else (other[0], other[1] + more)
    if name in ("relax.reshape", "relax.astype") and "int" in str(value.args[0].ty.dtype):
        return offset_of(ctx, value.args[0])
    return vector, 0


def _joined(ctx: ShapeBuilder, fields: Sequence[relax.Expr]) -> list[Element] | None:
    found: list[Element] = []
    for field in fields:
        if len(ctx.shape(field)) != 1:
            return None
        found += elements(ctx, field)
    return found


def _bound(ctx: ShapeBuilder, expr: relax.Expr) -> relax.Expr | None:
    """The expression that a variable is bound to; None for a parameter."""
    while isinstance(expr, relax.Var):
        expr = ctx.builder.lookup_binding(expr)
    return expr
