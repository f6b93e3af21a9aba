"""All anchors, in the order in which they are tried where several take the same calls."""

from __future__ import annotations

from functools import cache

from tvm_megcc.fuse import (
    attention,
    cached_attention,
    conv2d,
    elementwise,
    gather_wq,
    lut,
    matmul,
    matmul_wq,
    movement,
    pool2d,
    quantise,
    quantised,
    quantised_binary,
    quantised_pool,
    quantised_resize,
    quantised_softmax,
    reduction,
    resize2d,
)
from tvm_megcc.fuse.request import Anchor

_OPERATORS = (
    quantised, quantised_binary, quantised_pool, quantised_resize, quantised_softmax, lut, conv2d,
    attention, cached_attention, matmul_wq, gather_wq, matmul, pool2d, reduction, resize2d,
    movement, elementwise, quantise,
)  # fmt: skip


@cache
def anchors() -> dict[str, Anchor]:
    """Name -> anchor."""
    return {anchor.name: anchor for operator in _OPERATORS for anchor in operator.anchors()}
