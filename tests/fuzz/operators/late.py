"""Operators of later opsets, and those of training."""

from __future__ import annotations

import numpy as np
from onnx import helper

from tests.fuzz.data import (
    ANY,
    BOOL,
    F16,
    F32,
    F64,
    FLOATS,
    I8,
    I16,
    I32,
    I64,
    INTS,
    U8,
    U16,
    U32,
    U64,
)
from tests.fuzz.operators._common import axis_of, ints, often
from tests.fuzz.sketch import Sketch

_OF_INTEGERS = (
    *"ReduceProd ReduceSum ReduceSumSquare ReduceL1 ReduceMax ReduceMin".split(),
    *"ArgMax ArgMin TopK CumSum PRelu MatMul Gemm Unique".split(),
)
_WIDTHS = ((BOOL, I8, U8), (F16, I16, U16), (F32, I32, U32), (F64, I64, U64))


def cum_prod(s: Sketch) -> None:
    if s.opset < 26:
        return
    x = s.data((F32, F64, I32, I64), fits=lambda a: a.ndim > 0, tame=True)
    axis = s.give(np.array(axis_of(s, len(s.shape_of(x))), s.rng.one((I64, I32))), 0.25)
    flags = {key: s.rng.below(2) for key in s.rng.some(("exclusive", "reverse"))}
    s.node("CumProd", [x, axis], **flags)


def bit_cast(s: Sketch) -> None:
    if s.opset < 26:
        return
    x = s.data(ANY)
    family = next(row for row in _WIDTHS if s.dtype_of(x) in row)
    if s.dtype_of(x) != BOOL:
        family = tuple(t for t in family if t != BOOL)
    to = int(helper.np_dtype_to_tensor_dtype(s.rng.one(family)))
    s.node("BitCast", [x], to=to)


@often(2)
def tensor_scatter(s: Sketch) -> None:
    if s.opset < 24:
        return
    rank = s.rng.between(3, 4)
    shape = list(s.rng.shape(rank, 1))
    axis = s.rng.between(1, rank - 1)
    count = s.rng.between(1, shape[axis])
    update = [count if k == axis else d for k, d in enumerate(shape)]
    dtype = s.rng.one((F32, I64, U8))
    mode = s.rng.one((None, "linear", "circular"))
    top = shape[axis] if mode == "circular" else shape[axis] - count + 1
    places = s.give(s.rng.bits.integers(0, top, shape[0]), 0.7)
    given = axis - rank if s.rng.chance(0.4) else axis
    s.node(
        "TensorScatter",
        [s.give(s.rng.array(dtype, shape), 0.8), s.give(s.rng.array(dtype, update), 0.8),
         places if s.rng.chance(0.8) else None],
        axis=given if s.rng.chance(0.7) or axis != rank - 2 else None, mode=mode,
    )  # fmt: skip


@often(2)
def col2im(s: Sketch) -> None:
    if s.opset < 18:
        return
    rank = s.rng.one((1, 2, 2))
    image = [s.rng.between(2, 6) for _ in range(rank)]
    block = [s.rng.between(1, n) for n in image]
    attrs = {}
    dilations, strides, pads = [1] * rank, [1] * rank, [0] * 2 * rank
    if s.rng.chance(0.3):
        attrs["dilations"] = dilations = [s.rng.between(1, 2) for _ in range(rank)]
    if s.rng.chance(0.5):
        attrs["strides"] = strides = [s.rng.between(1, 2) for _ in range(rank)]
    if s.rng.chance(0.4):
        attrs["pads"] = pads = [s.rng.below(2) for _ in range(2 * rank)]
    steps = [
        (image[i] + pads[i] + pads[rank + i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1
        for i in range(rank)
    ]
    if min(steps) < 1:
        return
    rows = s.rng.between(1, 3) * int(np.prod(block))
    x = s.give(s.rng.array(F32, (s.rng.between(1, 2), rows, int(np.prod(steps))), tame=True), 0.9)
    s.node("Col2Im", [x, s.give(ints(*image), 0.2), s.give(ints(*block), 0.1)], **attrs)


def deform_conv(s: Sketch) -> None:
    if s.opset < 19:
        return
    group, kernel = s.rng.one((1, 1, 2)), [s.rng.between(1, 3) for _ in range(2)]
    share = s.rng.one((1, 1, 2))
    channels = s.rng.between(1, 2) * group * share
    n, h, w = s.rng.between(1, 2), s.rng.between(3, 5), s.rng.between(3, 5)
    pads = [s.rng.below(2) for _ in range(4)] if s.rng.chance(0.5) else None
    strides = [s.rng.between(1, 2) for _ in range(2)] if s.rng.chance(0.4) else None
    sums = [h, w]
    out = [
        (size + (pads[k] + pads[k + 2] if pads else 0) - kernel[k]) // (strides or [1, 1])[k] + 1
        for k, size in enumerate(sums)
    ]
    if min(out) < 1:
        return
    taps = kernel[0] * kernel[1]

    def rows(*shape: int, run_time: float = 0.8) -> str:
        return s.give(s.rng.array(F32, shape, tame=True), run_time)

    outputs = group * s.rng.between(1, 2)
    operands = [
        rows(n, channels, h, w), rows(outputs, channels // group, *kernel, run_time=0.2),
        rows(n, share * taps * 2, *out), rows(outputs, run_time=0.2) if s.rng.chance(0.5) else None,
        rows(n, share * taps, *out) if s.rng.chance(0.5) else None,
    ]  # fmt: skip
    s.node("DeformConv", operands, group=group, offset_group=share, pads=pads, strides=strides)


@often(2)
def center_crop_pad(s: Sketch) -> None:
    if s.opset < 18:
        return
    x = s.data((*FLOATS, I64, U8), fits=lambda a: a.ndim > 0,
               shape=lambda: s.rng.shape(s.rng.between(1, 4)))  # fmt: skip
    rank = len(s.shape_of(x))
    axes = s.rng.some(range(rank), 1) if s.rng.chance(0.6) else None
    count = rank if axes is None else len(axes)
    sizes = ints(*(s.rng.between(0 if s.rng.chance(0.1) else 1, 7) for _ in range(count)))
    named = None if axes is None else [a - rank if s.rng.chance(0.3) else a for a in axes]
    s.node("CenterCropPad", [x, s.give(sizes, 0.3)], axes=named)


@often(2)
def losses(s: Sketch) -> None:
    if s.opset < 12:
        return
    op = s.rng.one(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"))
    batch, classes = s.rng.between(1, 3), s.rng.between(1, 5)
    rest = s.rng.shape(s.rng.below(3), 1)
    x = s.give(s.rng.array(F32, (batch, classes, *rest), tame=True), 0.9)
    labels = s.rng.bits.integers(0, classes, (batch, *rest))
    ignored = s.rng.one((None, None, 0, -1))
    if ignored == -1:
        labels = np.where(s.rng.bits.random(labels.shape) < 0.3, -1, labels)
    label = s.give(labels.astype(s.rng.one((np.int64, np.int32))), 0.8)
    weight = s.give(np.abs(s.rng.array(F32, (classes,), tame=True)) + np.float32(0.25), 0.3)
    reduction = s.rng.one((None, "none", "sum", "mean"))
    outputs = 2 if op[0] == "S" and s.rng.chance(0.4) else 1
    s.node(op, [x, label, weight if s.rng.chance(0.5) else None], outputs, reduction=reduction,
           ignore_index=ignored)  # fmt: skip


@often(3)
def attention23(s: Sketch) -> None:
    if s.opset < 23:
        return
    dtype = s.rng.one((F32, F32, F32, F16))
    batch, queries, kept = s.rng.between(1, 3), s.rng.between(1, 4), s.rng.between(1, 2)
    count = kept * s.rng.one((1, 1, 2, 3))
    size, wide = s.rng.between(1, 4), s.rng.between(1, 4)
    keys = s.rng.one((queries, s.rng.between(1, 5)))
    past = s.rng.between(0, 3) if s.rng.chance(0.3) else None
    total = keys + (past or 0)
    flat = s.rng.chance(0.4)

    def rows(*shape: int) -> str:
        return s.give(s.rng.array(dtype, shape, tame=True), 0.85)

    def heads(number: int, length: int, width: int) -> str:
        if flat:
            return rows(batch, length, number * width)
        return rows(batch, number, length, width)

    operands: list[str | None] = [
        heads(count, queries, size), heads(kept, keys, size), heads(kept, keys, wide)
    ]  # fmt: skip
    mask = None
    if s.rng.chance(0.5):
        shape = s.rng.one(((queries, total), (1, 1, queries, total), (batch, 1, queries, total),
                           (batch, count, queries, total), (1, queries, total)))  # fmt: skip
        if s.rng.chance(0.5):
            found = s.rng.bits.random(shape) < 0.7
            found[..., 0] = True
            mask = s.give(found, 0.7)
        else:
            mask = rows(*shape)
    operands.append(mask)
    if past is not None:
        operands += [rows(batch, kept, past, size), rows(batch, kept, past, wide)]
    attrs: dict[str, object] = {
        "is_causal": s.rng.one((None, 0, 1)),
        "softcap": s.rng.one((None, None, 2.0)),
        "scale": s.rng.one((None, 0.3)),
        "qk_matmul_output_mode": s.rng.one((None, 0, 1, 2, 3)),
    }
    if flat:
        attrs |= {"q_num_heads": count, "kv_num_heads": kept}
    outputs = [True]
    if past is not None:
        outputs = [True, True, True]
    if s.rng.chance(0.3):
        outputs = [True, past is not None, past is not None, True]
    s.node("Attention", operands, outputs, **attrs)


@often(2)
def rotary23(s: Sketch) -> None:
    if s.opset < 23:
        return
    batch, length, count = s.rng.between(1, 3), s.rng.between(1, 4), s.rng.between(1, 3)
    half, more = s.rng.between(1, 3), s.rng.one((0, 0, 2))
    size = 2 * half + more
    by_heads = s.rng.chance(0.5)
    shape = (batch, count, length, size) if by_heads else (batch, length, count * size)
    x = s.give(s.rng.array(F32, shape, tame=True), 0.9)
    longest = length + s.rng.below(3)
    indexed = s.rng.chance(0.5)
    table = (longest, half) if indexed else (batch, length, half)
    cos, sin = (s.give(s.rng.array(F32, table, tame=True), 0.4) for _ in range(2))
    places = s.give(s.rng.bits.integers(0, longest, (batch, length)), 0.7) if indexed else None
    s.node("RotaryEmbedding", [x, cos, sin, places], interleaved=s.rng.one((None, 0, 1)),
           num_heads=None if by_heads and s.rng.chance(0.7) else count,
           rotary_embedding_dim=2 * half if more else None)  # fmt: skip


def det(s: Sketch) -> None:
    if s.opset < 11:
        return
    n = s.rng.between(1, 4)
    s.node("Det", [s.give(s.rng.array(F32, (*s.rng.shape(s.rng.below(3)), n, n), tame=True), 0.9)])


@often(2)
def pooled_indices(s: Sketch) -> None:
    """MaxPool with the places of its largest, and back."""
    rank = s.rng.one((1, 2, 2, 3))
    dims = (s.rng.between(1, 2), s.rng.between(1, 3), *(s.rng.between(1, 6) for _ in range(rank)))
    x = s.give(s.rng.array(F32, dims, tame=True), 0.9)
    kernel = [s.rng.between(1, min(3, d)) for d in dims[2:]]
    window: dict[str, object] = {
        "kernel_shape": kernel,
        "strides": [s.rng.between(1, 3) for _ in kernel],
    }
    if s.rng.chance(0.4):
        window["pads"] = [s.rng.between(0, k - 1) for k in (*kernel, *kernel)]
    order = s.rng.one((None, 0, 1))
    made = s.node("MaxPool", [x], 2, storage_order=order, **window)
    if made is not None and not order and s.rng.chance(0.6):
        size = s.give(ints(*dims), 0.2) if s.rng.chance(0.5) else None
        s.node("MaxUnpool", [*made, size], **window)


@often(2)
def integers(s: Sketch) -> None:
    """Of integers what is mostly drawn of floats."""
    op = s.rng.one(_OF_INTEGERS)
    dtype = s.rng.one(INTS)
    x = s.data(
        (dtype,), fits=lambda a: a.ndim > 0, shape=lambda: s.rng.shape(s.rng.between(1, 3), 1)
    )
    rank = len(s.shape_of(x))
    axis = axis_of(s, rank)
    if op.startswith("Reduce"):
        keep = s.rng.one((None, 0, 1))
        if s.opset >= (13 if op == "ReduceSum" else 18):
            s.node(op, [x, s.give(ints(axis), 0.25)], keepdims=keep)
        else:
            s.node(op, [x], axes=[axis % rank], keepdims=keep)
    elif op.startswith("Arg"):
        s.node(op, [x], axis=axis % rank, keepdims=s.rng.one((None, 0, 1)),
               select_last_index=s.rng.one((None, 1)) if s.opset >= 12 else None)  # fmt: skip
    elif op == "TopK" and s.opset >= 11:
        k = s.rng.between(1, s.shape_of(x)[axis])
        s.node(op, [x, s.give(ints(k), 0.3)], 2, axis=axis, largest=s.rng.below(2))
    elif op == "CumSum" and s.opset >= 11:
        s.node(
            op, [x, s.give(np.array(axis), 0.3)], exclusive=s.rng.below(2), reverse=s.rng.below(2)
        )
    elif op == "PRelu":
        s.node(op, [x, s.give(s.rng.array(dtype, s.shape_of(x)[-1:]))])
    elif op == "MatMul":
        width = s.shape_of(x)[-1]
        s.node(op, [x, s.give(s.rng.array(dtype, (width, s.rng.between(1, 4))), 0.4)])
    elif op == "Gemm" and rank == 2:
        width = s.shape_of(x)[-1]
        c = s.give(s.rng.array(dtype, (1,))) if s.opset < 11 or s.rng.chance(0.5) else None
        s.node(op, [x, s.give(s.rng.array(dtype, (width, s.rng.between(1, 4))), 0.4), c])
    elif op == "Unique" and s.opset >= 11:
        s.node(op, [x], 4, axis=axis if s.rng.chance(0.5) else None, sorted=s.rng.below(2))
