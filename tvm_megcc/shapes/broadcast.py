"""Broadcasting of dynamic dims: whether they are equal, or one of them is 1, only a run shows.

The dim of the result is a new symbol: ``b`` where ``a`` is 1, else ``a``. An operand is copied to
that dim (`relax_tools.stretching`), after a check that its own dim is 1 or the same. What follows
the copies treats the result as any tensor. `dispatch.equal_dims` makes the program for dims that
are all equal, in which nothing is copied.

ONNX's Expand also takes sizes that data gives: see `expand_to`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import inf
from typing import Any

from tvm import relax, te, tirx

from tvm_megcc.dims import (
    Size,
    Symbol,
    bounds,
    compare,
    effort,
    may_be_one,
    of,
    select,
    stretch,
    symbols,
)
from tvm_megcc.relax_tools import stretching

from .builder import ShapeBuilder

#: Terms and operations of a dim that gets a name.
LONG = 100


def named(ctx: ShapeBuilder, size: Size) -> Size:
    """A new symbol for a size; the same symbol whenever it is asked for again."""
    return _broadcast(ctx, size, size)


def must_be_equal(ctx: ShapeBuilder, a: Size, b: Size) -> bool:
    """Whether two broadcast dims have to be equal.

    They do if neither is ever 1, or if both come from the same dims of the inputs: an exporter
    writes one size both as ``h//16`` and as ``2*(h//32)``.
    """
    if a == b or not (may_be_one(a) or may_be_one(b)):
        return True
    if ctx.broadcast_from.get(a) == (b, b) or ctx.broadcast_from.get(b) == (a, a):
        return True
    if _covers(ctx, a, b) or _covers(ctx, b, a) or bounds(a)[1] <= 1 or bounds(b)[1] <= 1:
        return False
    return bool(_roots(ctx, a) & _roots(ctx, b))


def _covers(ctx: ShapeBuilder, size: Size, other: Size) -> bool:
    """Whether `size` was made by broadcasting `other`, directly or through other dims."""
    parts = ctx.broadcast_from.get(size, ())
    return other in parts or any(_covers(ctx, part, other) for part in parts)


def _roots(ctx: ShapeBuilder, size: Size) -> set[Symbol]:
    """The symbols of a size; a symbol that broadcasting made counts as its operands' symbols."""
    found: set[Symbol] = set()
    for symbol in symbols(size):
        parts = ctx.broadcast_from.get(of(symbol))
        found |= {symbol} if parts is None else {r for p in parts for r in _roots(ctx, p)}
    return found


def common(ctx: ShapeBuilder, sizes: Sequence[Size]) -> Size:
    """The dim of the result for operands with these dims, none of which is the constant 1."""
    if fixed := [s for s in sizes if not may_be_one(s)]:
        return min(fixed, key=effort)
    found = {s for s in sizes if not any(_covers(ctx, other, s) for other in sizes)}
    first, *others = sorted(found, key=effort)
    if all(must_be_equal(ctx, first, other) for other in others):
        return first
    return reduce(lambda whole, part: _broadcast(ctx, part, whole), [*others[::-1], first])


def _broadcast(ctx: ShapeBuilder, a: Size, b: Size) -> Size:
    """The symbol for the dim of the result of dims `a` and `b`."""
    made = next((size for size, parts in ctx.broadcast_from.items() if parts == (a, b)), None)
    if made is None:
        name = ctx.unused_dim(f"{ctx.stem}_dim")
        low, high = bounds(stretch(a, b))
        variable = stretching.size(
            ctx.builder, ctx.prim(a), ctx.prim(b), name, f"{ctx.identifier}_size"
        )
        # The bounds of a division may be below 0; a dim is not.
        symbol = Symbol(name, int(max(low, 0)), None if high == inf else int(high))
        made = ctx.new_dim(symbol, variable)
        ctx.broadcast_from[made] = (a, b)
    return made


def broadcast_to(
    ctx: ShapeBuilder, value: relax.Expr, shape: Sequence[Size], wanted: Sequence[Size]
) -> relax.Expr:
    """Copy a tensor of this shape to the wanted dims; a run checks that its own are 1 or those.

    Constants of 1 stay. So do dims that must be equal to the wanted ones.
    """
    dims: dict[int, Size] = {}
    checked = list(shape)
    for axis, (have, want) in enumerate(zip(shape, wanted, strict=True)):
        if have != 1 and not must_be_equal(ctx, have, want):
            # The first of the two dims that made `want` is 1 or `want`, for all sizes.
            is_first = ctx.broadcast_from.get(want, ())[:1] == (have,)
            dims[axis] = want if is_first else stretch(have, want)
            checked[axis] = want
    changed = {axis: ctx.prim(dim) for axis, dim in dims.items() if dim != shape[axis]}
    if changed:
        value = stretching.copy(ctx.builder, value, changed)
    return value if all(dims[k] == checked[k] for k in dims) else ctx.match_cast(value, checked)


# ---- Expand ------------------------------------------------------------------------------------


def expanded_size(a: Size, b: Size) -> Size:
    """The dim of the result of two dims, which `expandable` checks."""
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int) or isinstance(b, int):  # the other one is 1 or the same
        return a if isinstance(a, int) else b
    return select(compare("eq", a, 1), b, a)


def expandable(ctx: ShapeBuilder, data: relax.Expr, axis: int, other: Size) -> relax.Expr:
    """The data; a run in which dim `axis` cannot be broadcast against `other` is refused."""
    have = ctx.shape(data)[axis]
    neither = (1 - compare("eq", have, 1)) * (1 - compare("eq", other, 1))
    return ctx.limited(data, axis, have + (other - have) * neither)


def expand_to(ctx: ShapeBuilder, data: relax.Expr, dims: Sequence[Size]) -> relax.Expr:
    """The data broadcast to these dims, each its own or 1, as `expandable` checks.

    Where only the run shows which dims are 1, those are read with a stride of zero.
    """
    have = ctx.shape(data)
    if all(a in (b, 1) for a, b in zip(have, dims[len(dims) - len(have) :], strict=True)):
        return data if list(have) == list(dims) else relax.op.broadcast_to(data, ctx.prims(dims))
    return ctx.builder.emit_te(_repeated, data, relax.ShapeExpr(ctx.prims(dims)))


def _repeated(data: te.Tensor, shape: Any) -> te.Tensor:
    first = len(shape) - len(data.shape)

    def element(*at: Any) -> Any:
        one = tirx.const(1, "int64")
        pairs = zip(at[first:], data.shape, strict=True)
        return data(*(tirx.Select(tirx.Cast("int64", d) == one, i * 0, i) for i, d in pairs))

    return te.compute(list(shape), element, name="stretched")
