"""transpose: ``permute_dims`` that moves data."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tvm.relax.dpl import is_op, wildcard

from tvm_megcc.kernels.request import Parts, Request, Row, dtype_of, static_shape
from tvm_megcc.program import DTYPES

MAX_RANK = 8


def rows() -> Iterator[Row]:
    x = wildcard()
    call = is_op("relax.permute_dims")(x)
    yield Row("transpose", frozenset({"relax.permute_dims"}), call, {"x": x}, _request)


def _request(parts: Parts) -> Request | None:
    x, axes = parts["x"], parts["root"].attrs.axes
    shape = static_shape(x)
    if shape is None or len(shape) > MAX_RANK:
        return None
    rank, missing = len(shape), MAX_RANK - len(shape)
    order = [int(a) % rank for a in axes] if axes is not None else list(range(rank))[::-1]
    dims = (1,) * missing + shape
    perm = [*range(missing), *(missing + a for a in order)]
    dtype = dtype_of(x)
    facts: dict[str, int | float | str] = {
        "dtype": dtype, "esize": DTYPES[dtype], "size": prod(shape),
        **{f"d{i}": d for i, d in enumerate(dims)},
        **{f"p{i}": p for i, p in enumerate(perm)},
    }  # fmt: skip
    return Request("transpose", facts, (x,))
