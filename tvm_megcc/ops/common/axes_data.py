"""Axes that are computed at run time.

Enters: a vector of axes, and the dims of the tensor that they are axes of. Leaves: sizes that are
read from data, which say how the result is laid out. One small kernel works them out; axes that
there are not, or that stand there twice, make every size -1, which is refused when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tvm import relax, te, tirx
from tvm.script.ir_builder import tirx as T

from ...dims import Size
from ...relax_tools.tir_kernels import computed, local
from ...shapes.read_from_data import sizes_from
from .context import Context

Expr: TypeAlias = relax.Expr

#: Arguments of a kernel below: dims, a mask of the axes, whether they are valid, the result.
_Body = Callable[[Any, Any, Any, Any], None]


def halves(
    ctx: Context, axes: Expr, dims: Sequence[Size], none_is_all: bool
) -> tuple[list[Size], list[Size]]:
    """Split each dim into a kept and a reduced factor, of which one is 1."""
    rank, count = len(dims), ctx.shape(axes)[0]

    def body(own: Any, mask: Any, good: Any, out: Any) -> None:
        if none_is_all and not isinstance(count, int):
            named = local()
            named[0] = _int(0)
            for k in range(rank):
                named[0] = named[0] + mask[k]
            for k in range(rank):
                mask[k] = tirx.if_then_else(named[0] == 0, _int(1), mask[k])
        one, bad = _int(1), _int(-1)
        for k in range(rank):
            stays = tirx.if_then_else(mask[k] != 0, one, own[k])
            goes = tirx.if_then_else(mask[k] != 0, own[k], one)
            out[k] = tirx.if_then_else(good[0] != 0, stays, bad)
            out[rank + k] = tirx.if_then_else(good[0] != 0, goes, bad)

    found = _planned(ctx, axes, dims, rank, 2 * rank, body)
    names = [f"{what}{k}" for what in ("stays", "goes") for k in range(rank)]
    sizes = sizes_from(ctx, found, names, [*_highs(dims), *_highs(dims)])
    return sizes[:rank], sizes[rank:]


def dropped(ctx: Context, data: Expr, axes: Expr, dims: Sequence[Size], ones: bool = False) -> Expr:
    """``data`` reshaped to the dims whose axes are not listed, in order.

    With ``ones`` the listed dims have to be 1.
    """
    (count,) = ctx.static_shape(axes)
    left = len(dims) - count
    if left < 0:
        raise ctx.ill_typed(f"{count} axes of a tensor of rank {len(dims)}")

    def body(own: Any, mask: Any, good: Any, out: Any) -> None:
        following = local()
        following[0] = _int(0)
        if ones:
            for k in range(len(dims)):
                with T.If(tirx.all(mask[k] != 0, own[k] != 1)), T.Then():
                    good[0] = _int(0)
        for k in range(max(left, 1)):
            out[k] = good[0] - 1
        if left:
            for k in range(len(dims)):
                with T.If(tirx.all(good[0] != 0, mask[k] == 0)), T.Then():
                    out[following[0]] = own[k]
                    following[0] = following[0] + 1

    found = _planned(ctx, axes, dims, len(dims), max(left, 1), body)
    if not left:
        return ctx.checked(ctx.reshape(data, []), _all_good(ctx, found))
    return ctx.reshape(
        data, sizes_from(ctx, found, [f"dim{k}" for k in range(left)], [None] * left)
    )


def widened(ctx: Context, axes: Expr, dims: Sequence[Size]) -> list[Size]:
    """The dims with a 1 inserted at each listed axis of the result."""
    (count,) = ctx.static_shape(axes)
    rank = len(dims) + count

    def body(own: Any, mask: Any, good: Any, out: Any) -> None:
        following = local()
        following[0] = _int(0)
        for k in range(rank):
            out[k] = tirx.if_then_else(good[0] != 0, _int(1), _int(-1))
            with T.If(tirx.all(good[0] != 0, mask[k] == 0)), T.Then():
                if dims:
                    out[k] = own[following[0]]
                following[0] = following[0] + 1

    found = _planned(ctx, axes, dims, rank, rank, body)
    return sizes_from(ctx, found, [f"dim{k}" for k in range(rank)], [None] * rank)


def around(ctx: Context, axis: Expr, dims: Sequence[Size]) -> Expr:
    """``int64[3]``: the product of the dims before an axis, the axis, and those behind it.

    The run ends where there is no such axis.
    """
    rank = len(dims)

    def body(own: Any, mask: Any, good: Any, out: Any) -> None:
        where = local()
        where[0] = _int(0)
        for k in range(3):
            out[k] = tirx.if_then_else(good[0] != 0, _int(1), _int(-1))
        for k in range(rank):
            with T.If(mask[k] != 0), T.Then():
                where[0] = _int(1)
            with T.If(good[0] != 0), T.Then():
                out[where[0]] = out[where[0]] * own[k]
            with T.If(mask[k] != 0), T.Then():
                where[0] = _int(2)

    found = _planned(ctx, ctx.reshape(axis, [1]), dims, rank, 3, body)
    return ctx.checked(found, _all_good(ctx, found))


def _planned(
    ctx: Context, axes: Expr, dims: Sequence[Size], rank: int, size: int, body: _Body
) -> Expr:
    """A vector of int64 of this length that `body` computes."""
    axes = ctx.emit(relax.op.astype(axes, "int64"))
    own = ctx.sizes(dims or [1], "int64")

    def kernel(named: Any, lengths: Any, result: Any) -> None:
        mask = local(size=max(rank, 1))
        good, at = local(), local()
        good[0] = _int(1)
        for k in range(rank):
            mask[k] = _int(0)
        with T.serial(0, named.shape[0]) as i:
            at[0] = named[i] + tirx.if_then_else(named[i] < 0, _int(rank), _int(0))
            with T.If(tirx.any(at[0] < 0, at[0] >= rank)):
                with T.Then():
                    good[0] = _int(0)
                with T.Else():
                    with T.If(mask[at[0]] != 0), T.Then():
                        good[0] = _int(0)
                    mask[at[0]] = _int(1)
        body(lengths, mask, good, result)

    def planned(axes: te.Tensor, own: te.Tensor) -> te.Tensor:
        return computed("axes", [axes, own], [((size,), "int64")], kernel)

    return ctx.emit(ctx.builder.call_te(planned, axes, own, primfunc_name_hint="axes"))


def _all_good(ctx: Context, found: Expr) -> Expr:
    """Whether no element is negative."""
    least = relax.op.min(found, axis=[0], keepdims=True)
    return ctx.emit(relax.op.greater_equal(least, ctx.const(0, "int64")))


def _highs(dims: Sequence[Size]) -> list[Size | None]:
    return [max(d, 1) if isinstance(d, int) else None for d in dims]


def _int(value: int) -> tirx.IntImm:
    return tirx.IntImm("int64", value)
