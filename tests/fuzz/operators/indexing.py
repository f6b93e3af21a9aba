"""Operators whose operands are positions in other operands, or whose results are."""

from __future__ import annotations

import numpy as np

from tests.fuzz.data import ANY, BOOL, F32, F64, FLOATS, I32, I64, U8
from tests.fuzz.operators._common import axis_of, ints, often
from tests.fuzz.sketch import Sketch


def _ranked(s: Sketch, dtypes=ANY, low: int = 1, high: int = 4, least: int = 1) -> str:
    return s.data(
        dtypes, fits=lambda a: low <= a.ndim <= high and (not least or 0 not in a.shape),
        shape=lambda: s.rng.shape(s.rng.between(low, high), least),
    )  # fmt: skip


def _indices(s: Sketch, n: int, shape, dtypes=(I64, I64, I32)) -> np.ndarray:
    low = -n if s.rng.chance(0.5) and s.opset >= 11 else 0
    return s.rng.bits.integers(low, max(n, low + 1), shape).astype(s.rng.one(dtypes))


@often(4)
def gather(s: Sketch) -> None:
    x = _ranked(s)
    axis = axis_of(s, len(s.shape_of(x)))
    indices = _indices(s, s.shape_of(x)[axis], s.rng.shape(s.rng.below(3)))
    s.node("Gather", [x, s.give(indices)], axis=axis if axis or s.rng.chance(0.5) else None)


@often(3)
def gather_elements(s: Sketch) -> None:
    if s.opset < 11:
        return
    x = _ranked(s)
    shape = list(s.shape_of(x))
    axis = axis_of(s, len(shape))
    dims = [s.rng.between(1, d) if s.rng.chance(0.3) else d for d in shape]
    dims[axis] = s.rng.dim()
    s.node("GatherElements", [x, s.give(_indices(s, shape[axis], dims))], axis=axis)


def _positions(s: Sketch, shape, batch: int, unique: bool) -> np.ndarray:
    depth = s.rng.between(1, len(shape) - batch)
    inner = shape[batch : batch + depth]
    if unique:
        total = int(np.prod(inner))
        rows = s.rng.bits.permutation(total)[
            : s.rng.between(0 if s.rng.chance(0.1) else 1, min(total, 6))
        ]
        found = np.stack(np.unravel_index(rows, inner), -1).astype(np.int64)
    else:
        lead = [*shape[:batch], *s.rng.shape(s.rng.between(1, 2))]
        found = np.stack([s.rng.bits.integers(0, n, lead) for n in inner], -1)
    if s.rng.chance(0.4) and s.opset >= 11:
        found = np.where(s.rng.bits.random(found.shape) < 0.5, found - np.array(inner), found)
    return found.astype(np.int64)


@often(3)
def gather_nd(s: Sketch) -> None:
    if s.opset < 11:
        return
    x = _ranked(s)
    shape = s.shape_of(x)
    batch = s.rng.below(len(shape)) if s.opset >= 12 and s.rng.chance(0.4) else 0
    s.node("GatherND", [x, s.give(_positions(s, shape, batch, False))], batch_dims=batch or None)


@often(2)
def scatter_nd(s: Sketch) -> None:
    if s.opset < 11:
        return
    x = _ranked(s)
    shape = s.shape_of(x)
    modes = [None, "none"] + ["add", "mul"] * (s.opset >= 16) + ["max", "min"] * (s.opset >= 18)
    mode = s.rng.one(modes) if s.opset >= 16 else None
    found = _positions(s, shape, 0, mode in (None, "none"))
    updates = s.rng.array(s.dtype_of(x), [*found.shape[:-1], *shape[found.shape[-1] :]])
    s.node("ScatterND", [x, s.give(found), s.give(updates)], reduction=mode)


@often(3)
def scatter_elements(s: Sketch) -> None:
    x = _ranked(s)
    shape = list(s.shape_of(x))
    axis = axis_of(s, len(shape))
    if s.opset < 11:
        axis %= len(shape)
    modes = [None, "none"] + ["add", "mul"] * (s.opset >= 16) + ["max", "min"] * (s.opset >= 18)
    mode = s.rng.one(modes) if s.opset >= 16 else None
    dims = [s.rng.between(1, d) if s.rng.chance(0.35) else d for d in shape]
    n = shape[axis]
    order = np.argsort(
        s.rng.bits.random([*dims[: axis % len(shape)], n, *dims[axis % len(shape) + 1 :]]), axis
    )
    found = np.take(order, range(dims[axis]), axis)
    if mode not in (None, "none"):
        found = s.rng.bits.integers(0, n, dims)
    if s.rng.chance(0.4) and s.opset >= 11:
        found = np.where(s.rng.bits.random(found.shape) < 0.5, found - n, found)
    updates = s.rng.array(s.dtype_of(x), dims)
    operands = [x, s.give(found.astype(s.rng.one((I64, I32)))), s.give(updates)]
    old = s.opset < 11
    s.node("Scatter" if old else "ScatterElements", operands, axis=axis, reduction=mode)


@often(2)
def one_hot(s: Sketch) -> None:
    depth = s.rng.between(1, 6)
    indices = s.rng.bits.integers(-depth - 1, depth + 2, s.rng.shape(s.rng.below(3))).astype(
        s.rng.one((I64, I32, F32))
    )
    values = s.rng.array(s.rng.one((F32, I64, I32)), (2,))
    axis = s.rng.between(-indices.ndim - 1, indices.ndim)
    count = s.give(np.array(depth if s.rng.chance(0.5) else [depth], s.rng.one((I64, I32))), 0.2)
    s.node(
        "OneHot", [s.give(indices), count, s.give(values)], axis=axis if s.rng.chance(0.8) else None
    )


@often(3)
def arg_extreme(s: Sketch) -> None:
    x = _ranked(s, (*FLOATS, I32, I64, U8))
    axis = axis_of(s, len(s.shape_of(x)))
    if s.opset < 11:
        axis %= len(s.shape_of(x))
    last = s.rng.one((None, 0, 1)) if s.opset >= 12 else None
    keep = s.rng.one((None, 0, 1))
    op = s.rng.one(("ArgMax", "ArgMin"))
    s.node(op, [x], axis=axis, keepdims=keep, select_last_index=last)


@often(3)
def top_k(s: Sketch) -> None:
    x = _ranked(s, (F32, F32, F64, I64, I32) if s.opset >= 11 else (F32,), least=0)
    shape = s.shape_of(x)
    axis = axis_of(s, len(shape))
    if s.opset < 11:
        axis %= len(shape)
    k = (
        s.rng.between(0, shape[axis])
        if s.rng.chance(0.3)
        else min(shape[axis], s.rng.between(1, 4))
    )
    outputs = 2
    flags = {}
    if s.opset >= 11:
        flags = {key: s.rng.below(2) for key in s.rng.some(("largest", "sorted"))}
    # Without sorted=1 any order is right.
    flags.pop("sorted", None) if flags.get("sorted") == 0 else None
    if s.opset < 10:
        s.node("TopK", [x], outputs, axis=axis, k=max(k, 1))
    else:
        s.node("TopK", [x, s.give(ints(k))], outputs, axis=axis, **flags)


@often(2)
def non_zero(s: Sketch) -> None:
    s.node("NonZero", [_ranked(s, (F32, I32, I64, U8, BOOL), low=0, least=0)])


@often(2)
def compress(s: Sketch) -> None:
    x = _ranked(s, least=0)
    shape = s.shape_of(x)
    axis = axis_of(s, len(shape)) if s.rng.chance(0.7) else None
    if axis is not None and s.opset < 11:
        axis %= len(shape)
    n = int(np.prod(shape)) if axis is None else shape[axis]
    keep = s.rng.bits.random(s.rng.between(0, n) if s.rng.chance(0.3) else n) < 0.6
    s.node("Compress", [x, s.give(keep)], axis=axis)


@often(2)
def unique(s: Sketch) -> None:
    if s.opset < 11:
        return
    x = _ranked(s, (F32, I64, U8, F64), low=1, least=0)
    axis = axis_of(s, len(s.shape_of(x))) if s.rng.chance(0.5) else None
    outputs = [True, *(s.rng.chance(0.6) for _ in range(3))]
    s.node("Unique", [x], outputs, axis=axis, sorted=s.rng.one((None, 0, 1)))


@often(2)
def cum_sum(s: Sketch) -> None:
    if s.opset < 11:
        return
    x = _ranked(s, (F32, F32, F64, I32, I64), least=0)
    axis = s.give(np.array(axis_of(s, len(s.shape_of(x))), s.rng.one((I64, I32))), 0.25)
    flags = {key: s.rng.below(2) for key in s.rng.some(("exclusive", "reverse"))}
    s.node("CumSum", [x, axis], **flags)


@often(2)
def non_max_suppression(s: Sketch) -> None:
    if s.opset < 10:
        return
    n, batch, classes = s.rng.between(1, 7), s.rng.between(1, 2), s.rng.between(1, 2)
    corners = s.rng.bits.random((batch, n, 4)).astype(np.float32)
    if s.rng.chance(0.3):
        corners = np.round(corners * 4) / 4
    scores = s.rng.bits.normal(size=(batch, classes, n)).astype(np.float32)
    if s.rng.chance(0.6):
        scores = np.abs(scores)
    limits = [
        s.give(ints(s.rng.between(0, 4)), 0.3) if s.rng.chance(0.85) else None,
        s.give(np.array([s.rng.one((0.0, 0.25, 0.5, 1.0))], np.float32), 0.3)
        if s.rng.chance(0.7)
        else None,
        s.give(np.array([s.rng.one((0.0, 0.3, -0.5))], np.float32), 0.3)
        if s.rng.chance(0.5)
        else None,
    ]
    s.node(
        "NonMaxSuppression", [s.give(corners, 0.8), s.give(scores, 0.8), *limits],
        center_point_box=s.rng.one((None, 0, 1)),
    )  # fmt: skip


def roi_align(s: Sketch) -> None:
    if s.opset < 10:
        return
    x = s.give(
        s.rng.array(
            F32,
            (s.rng.between(1, 2), s.rng.between(1, 3), s.rng.between(3, 8), s.rng.between(3, 8)),
            tame=True,
        ),
        0.9,
    )
    n = s.rng.between(1, 3)
    rois = np.sort(s.rng.bits.random((n, 2, 2)) * 8, axis=1).reshape(n, 4).astype(np.float32)
    batch = s.rng.bits.integers(0, s.shape_of(x)[0], n)
    mode = {"coordinate_transformation_mode": s.rng.one((None, "half_pixel", "output_half_pixel"))}
    s.node(
        "RoiAlign", [x, s.give(rois), s.give(batch)], mode=s.rng.one((None, "avg", "max")),
        output_height=s.rng.between(1, 4), output_width=s.rng.between(1, 4),
        sampling_ratio=s.rng.one((None, 0, 1, 2)), spatial_scale=s.rng.one((None, 1.0, 0.5)),
        **(mode if s.opset >= 16 else {}),
    )  # fmt: skip


@often(2)
def grid_sample(s: Sketch) -> None:
    if s.opset < 16:
        return
    n, c, h, w = s.rng.between(1, 2), s.rng.between(1, 3), s.rng.between(1, 6), s.rng.between(1, 6)
    x = s.give(s.rng.array(F32, (n, c, h, w), tame=True), 0.9)
    grid = (s.rng.bits.random((n, s.rng.between(1, 4), s.rng.between(1, 4), 2)) * 2.6 - 1.3).astype(
        np.float32
    )
    modes = ("linear", "nearest", "cubic") if s.opset >= 20 else ("bilinear", "nearest", "bicubic")
    s.node(
        "GridSample", [x, s.give(grid)], mode=s.rng.one((None, *modes)),
        padding_mode=s.rng.one((None, "zeros", "border", "reflection")),
        align_corners=s.rng.one((None, 0, 1)),
    )  # fmt: skip


def affine_grid(s: Sketch) -> None:
    if s.opset < 20:
        return
    n = s.rng.between(1, 2)
    size = ints(n, 2, s.rng.between(1, 5), s.rng.between(1, 5))
    theta = s.rng.array(F32, (n, 2, 3), tame=True)
    s.node("AffineGrid", [s.give(theta), s.give(size, 0.4)], align_corners=s.rng.one((None, 0, 1)))
