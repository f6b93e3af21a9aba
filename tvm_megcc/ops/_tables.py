"""Rows of a table at places that data says, all of which have to be there."""

from __future__ import annotations

from tvm import relax

from . import Context
from ._indexing import in_bounds


def looked_up(ctx: Context, table: relax.Expr, places: relax.Expr) -> relax.Expr:
    """``table[places]``, of a run that ends where a place is not in ``[0, rows)``."""
    rows = ctx.shape(table)[0]
    places = ctx.checked(places, in_bounds(ctx, places, 0, rows - 1))
    return ctx.emit(relax.op.take(table, places, axis=0, mode="clip"))
