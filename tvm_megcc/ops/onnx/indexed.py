"""Elements and blocks that are read or written at places which an operand says: own kernels.

Updates are applied in order: of several to one place the last one stays.
"""

from __future__ import annotations

from ...shapes.axes import normal_axis
from .. import Attrs, Context, Inputs, OnnxOp, Result
from ..common.indexing import (
    UPDATES,
    checked,
    elements_checked,
    read_blocks,
    read_elements,
    write_blocks,
    write_elements,
)
from ..common.rows import row


def _gather_elements(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    rank = inputs.rank(0)
    if inputs.rank(1) != rank:
        raise ctx.ill_typed(f"its indices have {inputs.rank(1)} dims, its data {rank}")
    axis = normal_axis(attrs.get("axis", 0), rank)
    data, indices = elements_checked(ctx, inputs, axis)
    return ctx.builder.emit_te(read_elements, data, indices, axis)


def _gather_nd(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    batch = attrs.get("batch_dims", 0)
    count = inputs.shape(1)[-1]
    if not isinstance(count, int) or batch + count > inputs.rank(0):
        raise ctx.ill_typed(
            f"has rows of {count} indices, behind {batch} common axes, for a tensor of rank"
            f" {inputs.rank(0)}"
        )
    data = ctx.agreeing(inputs[0], inputs.shape(1)[:batch], "its indices")
    axes = list(range(batch, batch + count))
    data, indices = checked(ctx, inputs, axes, data=data, columns=True)
    return ctx.builder.emit_te(read_blocks, data, indices, batch)


class Scatter(OnnxOp):
    """Updates that replace elements, or are added to them and so on."""

    moves = (0, 2)

    def only_moves(self, attrs: Attrs) -> bool:
        return bool(attrs.get("reduction", "none") == "none")


def _reduction(ctx: Context, attrs: Attrs) -> str:
    found: str = attrs.get("reduction", "none")
    if found not in UPDATES:
        raise ctx.ill_typed(f"reduction '{found}' is none of {', '.join(UPDATES)}")
    return found


def _scatter_elements(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    rank = inputs.rank(0)
    if inputs.rank(1) != rank or inputs.rank(2) != rank:
        ranks = f"{inputs.rank(1)} and {inputs.rank(2)}"
        raise ctx.ill_typed(f"its indices and updates have {ranks} dims, its data {rank}")
    reduction = _reduction(ctx, attrs)
    axis = normal_axis(attrs.get("axis", 0), rank)
    data, indices = elements_checked(ctx, inputs, axis)
    updates = ctx.agreeing(inputs[2], inputs.shape(1), "its indices")
    return ctx.builder.emit_te(write_elements, data, indices, updates, axis, reduction)


def _scatter_nd(ctx: Context, inputs: Inputs, attrs: Attrs) -> Result:
    count = inputs.shape(1)[-1]
    if not isinstance(count, int) or count > inputs.rank(0):
        raise ctx.ill_typed(f"rows of {count} indices for {inputs.rank(0)} dims")
    reduction = _reduction(ctx, attrs)
    data, indices = checked(ctx, inputs, list(range(count)), data=inputs[0], columns=True)
    wanted = [*inputs.shape(1)[:-1], *inputs.shape(0)[count:]]
    if inputs.rank(2) != len(wanted):
        raise ctx.ill_typed(f"its updates have {inputs.rank(2)} dims, not {len(wanted)}")
    updates = ctx.agreeing(inputs[2], wanted, "its indices and data")
    return ctx.builder.emit_te(write_blocks, data, indices, updates, reduction)


# fmt: off
OPERATORS = [
    row("GatherElements", "An axis of the indices may be smaller than the data's", OnnxOp,
        slow=True, moves=(0,), convert=_gather_elements),
    row("GatherND", "Blocks at rows of indices", OnnxOp, moves=(0,), convert=_gather_nd),
    row("Scatter", "ScatterElements before opset 11", Scatter, slow=True,
        convert=_scatter_elements),
    row("ScatterElements", "An axis of the indices may be smaller than the data's", Scatter,
        slow=True, convert=_scatter_elements),
    row("ScatterND", "Blocks at rows of indices", Scatter, convert=_scatter_nd),
]
# fmt: on
