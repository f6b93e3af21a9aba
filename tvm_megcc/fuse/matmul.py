"""matmul: ``relax.matmul`` with broadcast batches, a transposed operand, or cast weights."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tvm.ir import GenericConst
from tvm.relax.dpl import is_const, is_op, wildcard

from tvm_megcc.dims import Size, product
from tvm_megcc.fuse.epilogue import Tail, activation, bias, residual
from tvm_megcc.fuse.request import Anchor, Parts, Request, channel_vector
from tvm_megcc.relax_tools.calls import permutation_of


def anchors() -> Iterator[Anchor]:
    steps = (bias, residual, activation)
    lhs, rhs, weights = wildcard(), wildcard(), is_const()
    for name, operand, right in (
        ("matmul_bt", rhs, is_op("relax.permute_dims")(rhs)),
        ("matmul", rhs, rhs),
        ("matmul_by_narrow_weights", weights, is_op("relax.astype")(weights)),
    ):
        pattern, build = is_op("relax.matmul")(lhs, right), partial(_request, name == "matmul_bt")
        yield Anchor(name, pattern, {"lhs": lhs, "rhs": operand, "swap": right}, build, steps)


def _swaps_last_two(parts: Parts) -> bool:
    rank = int(parts["swap"].ty.ndim)
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    return rank >= 2 and permutation_of(parts["swap"]) == swapped


def _request(trans_b: bool, parts: Parts, tail: Tail) -> Request | None:
    lhs, rhs = parts["lhs"], parts["rhs"]
    facts = geometry(trans_b, parts)
    if facts is None:
        return None
    added = {}
    if tail.bias is not None:
        vector = channel_vector(tail.bias, facts["n"])
        if vector is None:
            return None
        added = {"bias": vector}
    facts |= {"bias": len(added), **tail.facts}
    return Request("matmul", facts, {"lhs": lhs, "rhs": rhs, **added, **tail.operands})


def geometry(trans_b: bool, parts: Parts) -> dict[str, Any] | None:
    """Facts of the product ``root`` of ``lhs`` and ``rhs``, transposed by ``swap`` or not."""
    lhs, rhs, root = parts["lhs"], parts["rhs"], parts["root"]
    if trans_b and not _swaps_last_two(parts):
        return None
    shapes = [parts.shape_of(e) for e in (lhs, rhs, root)]
    if None in shapes or any(len(s or ()) < 2 for s in shapes):
        return None
    lhs_shape, rhs_shape, _ = (shape or () for shape in shapes)
    m, k = lhs_shape[-2:]
    n = rhs_shape[-2] if trans_b else rhs_shape[-1]
    batches = _batches(lhs_shape[:-2], rhs_shape[:-2], m, k, k * n)
    if batches is None:
        return None
    batch, m, lhs_stride, rhs_stride = batches
    rhs_const = isinstance(rhs, GenericConst) and rhs_stride == 0
    return {
        "b": batch, "m": m, "n": n, "k": k, "lhs_stride": lhs_stride,
        "rhs_stride": rhs_stride, "trans_b": int(trans_b), "rhs_const": int(rhs_const),
    }  # fmt: skip


def _batches(
    lhs: tuple[Size, ...], rhs: tuple[Size, ...], m: Size, k: Size, rhs_size: Size
) -> tuple[Size, Size, Size, Size] | None:
    """(batch, m, lhs stride, rhs stride); None if an operand needs several strides."""
    nl, nr = product(lhs), product(rhs)
    if nr == 1:  # one rhs for all: the batches are more rows, as long as rank does not grow
        return 1, nl * m, 0, 0
    if nl == 1:
        return nr, m, 0, rhs_size
    return (nl, m, m * k, rhs_size) if lhs == rhs else None
