"""Open dims that meet in broadcasting: equal, or 1, as only the run says.

The result's dim is a new symbol, which is ``b`` where ``a`` is 1, else ``a``. An operand is copied
to that dim (`relax_tools.stretching`), and it is checked that its own one is 1 or just that. What
comes after the copies knows nothing of this. `dispatch.equal_dims` makes the program for dims that
are all equal, in which nothing is copied.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from math import inf

from tvm import relax

from tvm_megcc.relax_tools import stretching

from ...dims import Size, Symbol, bounds, effort, may_be_one, of, stretch, symbols
from .context import Context

#: Terms and operations of a dim that gets a name.
LONG = 100


def named(ctx: Context, size: Size) -> Size:
    """A symbol for a size: what it becomes beside itself."""
    return _meeting(ctx, size, size)


def must_be_equal(ctx: Context, a: Size, b: Size) -> bool:
    """Whether dims that meet have to be equal: never 1, or made of the same dims of the inputs.

    ``h//16`` and ``2*(h//32)`` are one size, which an exporter computed in two ways.
    """
    if a == b or not (may_be_one(a) or may_be_one(b)):
        return True
    if ctx.met.get(a) == (b, b) or ctx.met.get(b) == (a, a):
        return True
    if _covers(ctx, a, b) or _covers(ctx, b, a) or bounds(a)[1] <= 1 or bounds(b)[1] <= 1:
        return False
    return bool(_roots(ctx, a) & _roots(ctx, b))


def _covers(ctx: Context, size: Size, other: Size) -> bool:
    """Whether `size` is what `other` became when it met others."""
    parts = ctx.met.get(size, ())
    return other in parts or any(_covers(ctx, part, other) for part in parts)


def _roots(ctx: Context, size: Size) -> set[Symbol]:
    """The symbols that a size follows from which are not themselves dims that met."""
    found: set[Symbol] = set()
    for symbol in symbols(size):
        parts = ctx.met.get(of(symbol))
        found |= {symbol} if parts is None else {r for p in parts for r in _roots(ctx, p)}
    return found


def common(ctx: Context, sizes: Sequence[Size]) -> Size:
    """What dims become that meet, none of which is the constant 1."""
    if fixed := [s for s in sizes if not may_be_one(s)]:
        return min(fixed, key=effort)
    found = {s for s in sizes if not any(_covers(ctx, other, s) for other in sizes)}
    first, *others = sorted(found, key=effort)
    if all(must_be_equal(ctx, first, other) for other in others):
        return first
    return reduce(lambda whole, part: _meeting(ctx, part, whole), [*others[::-1], first])


def _meeting(ctx: Context, a: Size, b: Size) -> Size:
    """The symbol for what `a` becomes beside `b`."""
    made = next((size for size, parts in ctx.met.items() if parts == (a, b)), None)
    if made is None:
        stem = re.sub(r"\W+", "_", next((n for n in ctx.outputs if n), ctx.op), flags=re.ASCII)
        name = ctx.unused_dim(f"{stem}_dim")
        low, high = bounds(stretch(a, b))
        variable = stretching.size(
            ctx.builder, ctx.prim(a), ctx.prim(b), name, f"{ctx.identifier}_size"
        )
        # What a division says of itself may be below 0; a dim is not.
        symbol = Symbol(name, int(max(low, 0)), None if high == inf else int(high))
        made = ctx.new_dim(symbol, variable)
        ctx.met[made] = (a, b)
    return made


def stretched(
    ctx: Context, value: relax.Expr, shape: Sequence[Size], wanted: Sequence[Size]
) -> relax.Expr:
    """The value with every dim that meets another one as that one is, if it is 1 or the same.

    Where dims have to be equal, the result has the value's own.
    """
    dims: dict[int, Size] = {}
    checked = list(shape)
    for axis, (have, want) in enumerate(zip(shape, wanted, strict=True)):
        if have != 1 and not must_be_equal(ctx, have, want):
            # Where a dim comes first in what it became, it is 1 or just that, whatever the sizes.
            dims[axis] = want if ctx.met.get(want, ())[:1] == (have,) else stretch(have, want)
            checked[axis] = want
    changed = {axis: ctx.prim(dim) for axis, dim in dims.items() if dim != shape[axis]}
    if changed:
        value = stretching.copy(ctx.builder, value, changed)
    return value if all(dims[k] == checked[k] for k in dims) else ctx.match_cast(value, checked)
