"""matmul: ``relax.matmul`` with broadcast batches, a transposed operand, and its epilogue."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import prod

from tvm import relax
from tvm.ir import GenericConst
from tvm.relax.dpl import is_op, wildcard

from tvm_megcc.dims import Size
from tvm_megcc.kernels.epilogue import Epilogue, epilogues
from tvm_megcc.kernels.request import Parts, Request, Row, channel_vector, dtype_of, shape_of

_ANCHOR = frozenset({"relax.matmul"})


def rows() -> Iterator[Row]:
    for trans_b in (True, False):
        lhs, rhs = wildcard(), wildcard()
        swap = is_op("relax.permute_dims")(rhs)
        product = is_op("relax.matmul")(lhs, swap if trans_b else rhs)
        extra = {"swap": swap} if trans_b else {}
        for epilogue in epilogues(product):
            parts = {"lhs": lhs, "rhs": rhs, "product": product, **extra, **epilogue.parts}
            name = f"matmul{'_bt' if trans_b else ''}.{epilogue.name}"
            build = partial(_request, epilogue, trans_b)
            yield Row(name, _ANCHOR, epilogue.output, parts, build)


def _swaps_last_two(permute: relax.Call) -> bool:
    rank = len(shape_of(permute) or ())
    axes = permute.attrs.axes
    wanted = [*range(rank - 2), rank - 1, rank - 2]
    given = [int(a) % rank for a in axes] if axes is not None else list(range(rank))[::-1]
    return rank >= 2 and given == wanted


def _request(epilogue: Epilogue, trans_b: bool, parts: Parts) -> Request | None:
    lhs, rhs, product = parts["lhs"], parts["rhs"], parts["product"]
    if trans_b and not _swaps_last_two(parts["swap"]):
        return None
    shapes = [shape_of(e) for e in (lhs, rhs, product)]
    if None in shapes or any(len(s or ()) < 2 for s in shapes):
        return None
    lhs_shape, rhs_shape, out_shape = shapes  # type: ignore[assignment]
    m, k = lhs_shape[-2:]
    n = rhs_shape[-2] if trans_b else rhs_shape[-1]
    batches = _batches(lhs_shape[:-2], rhs_shape[:-2], m, k, k * n)
    if batches is None:
        return None
    batch, m, lhs_stride, rhs_stride = batches
    rhs_const = isinstance(rhs, GenericConst) and rhs_stride == 0
    bias = None
    if "bias" in epilogue.parts:
        bias = channel_vector(parts["bias"], n)
        if bias is None:
            return None
    tail = epilogue.facts(parts, product)
    if tail is None:
        return None
    facts = {
        "dtype": dtype_of(lhs), "b": batch, "m": m, "n": n, "k": k, "lhs_stride": lhs_stride,
        "rhs_stride": rhs_stride, "trans_a": 0, "trans_b": int(trans_b),
        "rhs_const": int(rhs_const), "bias": int(bias is not None), **tail,
    }  # fmt: skip
    extra = ([bias] if bias is not None else []) + ([parts["residual"]] if tail["residual"] else [])
    return Request("matmul", facts, (lhs, rhs, *extra))


def _batches(
    lhs: tuple[Size, ...], rhs: tuple[Size, ...], m: int, k: int, rhs_size: int
) -> tuple[int, int, int, int] | None:
    """(batch, m, lhs stride, rhs stride); None where one stride per operand cannot say it."""
    nl, nr = prod(lhs), prod(rhs)
    if nr == 1:  # one rhs for all: the batches are more rows, as long as rank does not grow
        return 1, nl * m, 0, 0
    if nl == 1:
        return nr, m, 0, rhs_size
    return (nl, m, m * k, rhs_size) if lhs == rhs else None
