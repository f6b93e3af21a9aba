"""Reductions, softmaxes and normalisations."""

from __future__ import annotations

import numpy as np

from tests.fuzz.data import F32, FLOATS, I8, I32, I64, U8
from tests.fuzz.operators._common import axes_of, axis_of, ints, often
from tests.fuzz.sketch import Sketch

_REDUCE = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")


@often(9)
def reduce(s: Sketch) -> None:
    kind = s.rng.one(_REDUCE)
    x = s.data((*FLOATS, I32, I64, *((U8, I8) if kind in ("Max", "Min") and s.opset >= 12 else ())))
    rank = len(s.shape_of(x))
    axes = axes_of(s, rank)
    if s.opset < 11:
        axes = [a % rank for a in axes]
    keep = s.rng.one((None, 0, 1))
    if s.opset >= (13 if kind == "Sum" else 18):
        noop = s.rng.one((None, None, 0, 1))
        given = s.give(ints(*axes), 0.25) if s.rng.chance(0.8) else None
        s.node(f"Reduce{kind}", [x, given], keepdims=keep, noop_with_empty_axes=noop)
    else:
        s.node(f"Reduce{kind}", [x], axes=axes or None, keepdims=keep)


@often(4)
def softmax(s: Sketch) -> None:
    op = s.rng.one(("Softmax", "Softmax", "LogSoftmax", "Hardmax"))
    x = s.data(FLOATS, fits=lambda a: a.ndim > 0, shape=lambda: s.rng.shape(s.rng.between(1, 4)))
    rank = len(s.shape_of(x))
    axis = axis_of(s, rank)
    if s.opset < 11:
        axis %= rank
    s.node(op, [x], axis=axis if s.rng.chance(0.8) else None)


def _image(s: Sketch, low: int = 1, spatial: tuple[int, ...] = (1, 2, 2, 3)) -> str:
    rank = 2 + s.rng.one(spatial)
    return s.data((F32,), rank=rank, fits=lambda a: 0 not in a.shape and a.shape[1] >= low,
                  shape=lambda: s.rng.shape(rank, 1), tame=True)  # fmt: skip


@often(3)
def batch_normalization(s: Sketch) -> None:
    x = _image(s, spatial=(0, 1, 2, 2, 3))
    c = s.shape_of(x)[1]
    rows = [s.rng.array(F32, (c,), tame=True) for _ in range(3)]
    rows.append(np.abs(s.rng.array(F32, (c,), tame=True)) + np.float32(0.25))
    epsilon = s.rng.one((None, 1e-3))
    s.node("BatchNormalization", [x, *(s.give(r, 0.25) for r in rows)], epsilon=epsilon)


@often(2)
def instance_normalization(s: Sketch) -> None:
    x = _image(s)
    c = s.shape_of(x)[1]
    rows = [s.give(s.rng.array(F32, (c,), tame=True), 0.3) for _ in range(2)]
    s.node("InstanceNormalization", [x, *rows], epsilon=s.rng.one((None, 1e-2)))


@often(3)
def layer_normalization(s: Sketch) -> None:
    if s.opset < 17:
        return
    x = s.data((F32, F32, *FLOATS), fits=lambda a: a.ndim > 0 and 0 not in a.shape, tame=True,
               shape=lambda: s.rng.shape(s.rng.between(1, 4), 1))  # fmt: skip
    rank = len(s.shape_of(x))
    axis = axis_of(s, rank)
    tail = s.shape_of(x)[axis % rank :]
    rows = [s.rng.array(s.dtype_of(x), tail, tame=True) for _ in range(2)]
    bias = s.give(rows[1], 0.3) if s.rng.chance(0.6) else None
    outputs = s.rng.one(([True], [True], [True, True, True], [True, False, True]))
    epsilon = s.rng.one((None, 1e-2))
    s.node(
        "LayerNormalization",
        [x, s.give(rows[0], 0.3), bias],
        outputs,
        axis=axis if s.rng.chance(0.7) or axis not in (-1, rank - 1) else None,
        epsilon=epsilon,
    )


def rms_normalization(s: Sketch) -> None:
    if s.opset < 23:
        return
    x = s.data((F32,), fits=lambda a: a.ndim > 0 and 0 not in a.shape, tame=True,
               shape=lambda: s.rng.shape(s.rng.between(1, 4), 1))  # fmt: skip
    rank = len(s.shape_of(x))
    axis = axis_of(s, rank)
    scale = s.rng.array(F32, s.shape_of(x)[axis % rank :], tame=True)
    s.node("RMSNormalization", [x, s.give(scale, 0.3)], axis=axis, epsilon=s.rng.one((None, 1e-2)))


def group_normalization(s: Sketch) -> None:
    if s.opset < 18:
        return
    groups, each = s.rng.between(1, 3), s.rng.between(1, 3)
    x = s.give(
        s.rng.array(
            F32,
            (s.rng.between(1, 2), groups * each, *s.rng.shape(s.rng.between(1, 2), 1)),
            tame=True,
        ),
        0.9,
    )
    n = groups if s.opset < 21 else groups * each
    rows = [s.give(s.rng.array(F32, (n,), tame=True), 0.3) for _ in range(2)]
    s.node("GroupNormalization", [x, *rows], num_groups=groups, epsilon=s.rng.one((None, 1e-2)))


def lrn(s: Sketch) -> None:
    numbers = {"alpha": 0.01, "beta": 0.5, "bias": 2.0}
    chosen = {k: numbers[k] for k in s.rng.some(sorted(numbers))}
    s.node("LRN", [_image(s, spatial=(2,))], size=s.rng.one((1, 2, 3, 5)), **chosen)


def mean_variance(s: Sketch) -> None:
    x = _image(s, spatial=(2,))
    s.node("MeanVarianceNormalization", [x], axes=s.rng.one((None, [0, 2, 3], [1], [2, 3])))


def lp_normalization(s: Sketch) -> None:
    x = s.data((F32,), fits=lambda a: a.ndim > 0, shape=lambda: s.rng.shape(s.rng.between(1, 3), 1))
    s.node("LpNormalization", [x], axis=axis_of(s, len(s.shape_of(x))), p=s.rng.one((None, 1, 2)))
