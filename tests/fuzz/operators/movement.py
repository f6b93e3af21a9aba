"""Operators that move elements, or make them from sizes."""

from __future__ import annotations

import numpy as np
from onnx import helper

from tests.fuzz.data import ANY, BOOL, F32, FLOATS, I32, I64
from tests.fuzz.operators._common import axes_of, axis_of, ints, often
from tests.fuzz.sketch import Sketch


@often(4)
def transpose(s: Sketch) -> None:
    x = s.data(ANY)
    rank = len(s.shape_of(x))
    perm = s.rng.shuffled(range(rank)) if s.rng.chance(0.85) else None
    s.node("Transpose", [x], perm=perm or None)


@often(5)
def reshape(s: Sketch) -> None:
    x = s.data(ANY)
    shape = list(s.shape_of(x))
    size = int(np.prod(shape))
    if s.rng.chance(0.5) and size:
        target: list[int] = []
        rest = size
        for _ in range(s.rng.between(1, 4)):
            target.append(s.rng.one([d for d in range(1, min(rest, 12) + 1) if rest % d == 0]))
            rest //= target[-1]
        target = s.rng.shuffled([*target, rest])
    else:
        target = shape[:]
        k = s.rng.below(len(shape) + 1)
        if s.rng.chance(0.5):
            target.insert(k, 1)
        elif len(shape) > 1:
            k = s.rng.below(len(shape) - 1)
            target[k : k + 2] = [shape[k] * shape[k + 1]]
    if s.rng.chance(0.4) and target and size:
        target[s.rng.below(len(target))] = -1
    for k in range(min(len(target), len(shape))):
        if target[k] == shape[k] and s.rng.chance(0.3):
            target[k] = 0
    allow = 1 if s.opset >= 14 and s.rng.chance(0.1) else None
    if not size and s.opset >= 14 and s.rng.chance(0.5):  # nothing has many shapes
        target = s.rng.shuffled([0, *(s.rng.dim() for _ in range(s.rng.below(3)))])
        allow = 1
    s.node("Reshape", [x, s.give(ints(*target), 0.35)], allowzero=allow)


@often(2)
def flatten(s: Sketch) -> None:
    x = s.data(ANY if s.opset >= 13 else FLOATS)
    rank = len(s.shape_of(x))
    axis = s.rng.between(-rank if s.opset >= 11 else 0, rank)
    s.node("Flatten", [x], axis=axis if s.rng.chance(0.8) else None)


@often(3)
def squeeze(s: Sketch) -> None:
    def fits(array: np.ndarray) -> bool:
        return 1 in array.shape

    x = s.data(ANY, fits=fits, shape=lambda: s.rng.shuffled([1, *s.rng.shape(s.rng.below(4))]))
    shape = s.shape_of(x)
    axes = [k for k, d in enumerate(shape) if d == 1]
    axes = [
        a - len(shape) if s.rng.chance(0.3) and s.opset >= 11 else a for a in s.rng.some(axes, 1)
    ]
    if s.rng.chance(0.25):
        s.node("Squeeze", [x])
    elif s.opset < 13:
        s.node("Squeeze", [x], axes=axes)
    else:
        s.node("Squeeze", [x, s.give(ints(*axes), 0.3)])


@often(3)
def unsqueeze(s: Sketch) -> None:
    x = s.data(ANY, fits=lambda a: a.ndim < 5)
    more = s.rng.between(1, 2)
    rank = len(s.shape_of(x)) + more
    axes = s.rng.shuffled(range(rank))[:more]
    axes = [a - rank if s.rng.chance(0.3) and s.opset >= 11 else a for a in axes]
    if s.opset < 13:
        s.node("Unsqueeze", [x], axes=axes)
    else:
        s.node("Unsqueeze", [x, s.give(ints(*axes), 0.3)])


@often(4)
def concat(s: Sketch) -> None:
    x = s.data(ANY, fits=lambda a: a.ndim > 0, shape=lambda: s.rng.shape(s.rng.between(1, 4)))
    shape = s.shape_of(x)
    axis = axis_of(s, len(shape))
    if s.opset < 11:
        axis %= len(shape)
    where = axis % len(shape)

    def fits(a: np.ndarray) -> bool:
        return a.ndim == len(shape) and all(
            a.shape[d] == shape[d] for d in range(len(shape)) if d != where
        )

    def other() -> str:
        dims = [s.rng.dim() if d == where else size for d, size in enumerate(shape)]
        return s.data((s.dtype_of(x),), fits=fits, shape=lambda: dims)

    operands = s.rng.shuffled([x, *(other() for _ in range(s.rng.one((0, 1, 1, 2, 3))))])
    s.node("Concat", operands, axis=axis)


@often(4)
def split(s: Sketch) -> None:
    x = s.data(ANY, fits=lambda a: a.ndim > 0, shape=lambda: s.rng.shape(s.rng.between(1, 4)))
    shape = s.shape_of(x)
    axis = axis_of(s, len(shape))
    if s.opset < 11:
        axis %= len(shape)
    size = shape[axis]
    pieces = s.rng.between(1, 3)
    cuts = sorted(s.rng.between(0, size) for _ in range(pieces - 1))
    sizes = list(np.diff([0, *cuts, size]))
    given = axis if s.rng.chance(0.8) or axis % len(shape) else None
    if s.rng.chance(0.3):
        if s.opset >= 18:
            s.node("Split", [x], pieces, axis=given, num_outputs=pieces)
        elif size % pieces == 0:
            s.node("Split", [x], pieces, axis=given)
    elif s.opset < 13:
        s.node("Split", [x], pieces, axis=given, split=[int(v) for v in sizes])
    else:
        s.node("Split", [x, s.give(ints(*map(int, sizes)), 0.35)], pieces, axis=given)


@often(6)
def slice(s: Sketch) -> None:
    x = s.data(ANY, fits=lambda a: a.ndim > 0, shape=lambda: s.rng.shape(s.rng.between(1, 4)))
    shape = s.shape_of(x)
    axes = sorted(s.rng.some(range(len(shape)), 1))
    starts, ends, steps = [], [], []
    far = s.rng.chance(0.3)
    for axis in axes:
        n = shape[axis]
        step = s.rng.one((1, 1, 1, 2, 3, -1, -1, -2)) if s.opset >= 10 else 1
        first, last = sorted(s.rng.between(-n - 1, n + 1) for _ in range(2))
        if step < 0:
            first, last = last, first
        if far:
            last = (2**63 - 1 if step > 0 else -(2**63)) if s.rng.chance(0.5) else last
            first = 0 if step > 0 else n - 1
        starts.append(first)
        ends.append(last)
        steps.append(step)
    named = [a - len(shape) if s.rng.chance(0.3) else a for a in axes]
    if s.opset < 10:
        s.node("Slice", [x], starts=starts, ends=ends, axes=axes)
        return
    kind = np.int32 if s.rng.chance(0.2) and not far else np.int64
    give = [s.give(np.array(v, kind), 0.35) for v in (starts, ends)]
    all_axes = axes == list(range(len(axes)))
    operands = [
        *give,
        None if all_axes and s.rng.chance(0.3) else s.give(np.array(named, kind), 0.15),
    ]
    operands.append(
        s.give(np.array(steps, kind), 0.15)
        if steps != [1] * len(steps) or s.rng.chance(0.5)
        else None
    )
    s.node("Slice", [x, *operands])


@often(3)
def expand(s: Sketch) -> None:
    x = s.data(ANY)
    shape = [s.rng.dim(1) if d == 1 and s.rng.chance(0.7) else d for d in s.shape_of(x)]
    target = [1 if s.rng.chance(0.2) else d for d in shape]
    for _ in range(s.rng.one((0, 0, 1, 1, 2))):
        target.insert(0, s.rng.one((1, 1, 2, 3)))
    if s.rng.chance(0.1) and target:
        target = target[1:]
    s.node("Expand", [x, s.give(ints(*target), 0.4)])


@often(2)
def tile(s: Sketch) -> None:
    x = s.data(ANY, fits=lambda a: a.size < 200)
    repeats = [
        s.rng.one((1, 1, 2, 3, 0) if s.rng.chance(0.2) else (1, 1, 2, 3)) for _ in s.shape_of(x)
    ]
    s.node("Tile", [x, s.give(ints(*repeats), 0.4)])


@often(4)
def pad(s: Sketch) -> None:
    dtypes = FLOATS if s.opset < 13 else ANY
    x = s.data(
        dtypes, fits=lambda a: 0 < a.ndim < 5, shape=lambda: s.rng.shape(s.rng.between(1, 4))
    )
    shape = s.shape_of(x)
    modes = ["constant", "constant", "reflect", "edge"] + ["wrap"] * (s.opset >= 19)
    mode = s.rng.one(modes)
    axes = list(range(len(shape)))
    if s.opset >= 18 and s.rng.chance(0.4):
        axes = s.rng.some(axes, 1)
    widths = []
    for _ in range(2):
        for axis in axes:
            most = max(shape[axis] - 1, 0) if mode == "reflect" else 3
            width = s.rng.between(0, min(most, 3)) if s.rng.chance(0.7) else 0
            widths.append(-1 if s.rng.chance(0.08) and shape[axis] > 2 else width)
    if s.opset < 11:
        s.node("Pad", [x], mode=mode, pads=widths, value=s.rng.one((None, 1.5)))
        return
    value = None
    if mode == "constant" and s.rng.chance(0.6):
        value = s.give(s.rng.array(s.dtype_of(x), ()))
    named = None
    if s.opset >= 18 and len(axes) < len(shape):
        signed = [a - len(shape) if s.rng.chance(0.3) else a for a in axes]
        named = s.give(np.array(signed, s.rng.one((np.int64, np.int32))), 0.2)
    s.node("Pad", [x, s.give(ints(*widths), 0.35), value, named], mode=mode)


@often(2)
def shape(s: Sketch) -> None:
    x = s.data(ANY)
    limits = {}
    if s.opset >= 15 and s.rng.chance(0.5):
        rank = len(s.shape_of(x))
        limits = {k: s.rng.between(-rank - 1, rank + 1) for k in s.rng.some(("start", "end"))}
    s.node("Shape", [x], **limits)


def size(s: Sketch) -> None:
    s.node("Size", [s.data(ANY)])


@often(3)
def constant_of_shape(s: Sketch) -> None:
    dims = s.rng.shape(most=200)
    found = [n for n in s.made if s.dtype_of(n) == I64 and s.values[n].ndim == 1]
    found = [n for n in found if (s.values[n] >= 0).all() and s.values[n].prod() < 2000]
    target = s.rng.one(found) if found and s.rng.chance(0.6) else s.give(ints(*dims), 0.5)
    value = helper.make_tensor("", 1, [1], [1.5])
    if s.rng.chance(0.4):
        array = s.rng.array(s.rng.one(ANY), (1,))
        value = helper.make_tensor(
            "", int(helper.np_dtype_to_tensor_dtype(array.dtype)), [1], array.tobytes(), raw=True
        )
    s.node("ConstantOfShape", [target], value=value if s.rng.chance(0.8) else None)


@often(2)
def range_(s: Sketch) -> None:
    dtype = s.rng.one((I64, I64, I32, F32))
    step = s.rng.one((1, 1, 2, -1, 3))
    first = s.rng.between(-3, 3)
    count = s.rng.between(0, 7)
    rows = [first, first + step * count, step]
    if dtype == F32:
        rows = [v * 0.5 for v in rows]
    s.node("Range", [s.give(np.array(v, dtype)) for v in rows])


def eye_like(s: Sketch) -> None:
    x = s.data((*FLOATS, I32, I64), rank=2)
    s.node("EyeLike", [x], k=s.rng.one((None, 0, 1, -2)), dtype=s.rng.one((None, 1, 6, 7, 11)))


@often(2)
def trilu(s: Sketch) -> None:
    x = s.data(
        (*FLOATS, I64, I32, BOOL),
        fits=lambda a: a.ndim >= 2,
        shape=lambda: s.rng.shape(s.rng.between(2, 4)),
    )
    k = s.give(np.array(s.rng.between(-3, 3))) if s.rng.chance(0.6) else None
    s.node("Trilu", [x, k], upper=s.rng.one((None, 0, 1)))


@often(2)
def depth_space(s: Sketch) -> None:
    block = s.rng.one((2, 2, 3))
    n, c, h, w = (s.rng.between(1, 3) for _ in range(4))
    if s.rng.chance(0.5):
        x = s.give(s.rng.array(s.rng.one(FLOATS), (n, c * block * block, h, w)), 0.9)
        mode = s.rng.one((None, "DCR", "CRD")) if s.opset >= 11 else None
        s.node("DepthToSpace", [x], blocksize=block, mode=mode)
    else:
        x = s.give(s.rng.array(s.rng.one(FLOATS), (n, c, h * block, w * block)), 0.9)
        s.node("SpaceToDepth", [x], blocksize=block)


def reverse_sequence(s: Sketch) -> None:
    if s.opset < 10:
        return
    x = s.data(
        ANY,
        fits=lambda a: a.ndim >= 2 and 0 not in a.shape,
        shape=lambda: s.rng.shape(s.rng.between(2, 4), 1),
    )
    time, batch = s.rng.one(((0, 1), (1, 0)))
    lengths = s.rng.bits.integers(
        0 if s.rng.chance(0.1) else 1, s.shape_of(x)[time] + 1, s.shape_of(x)[batch]
    )
    s.node("ReverseSequence", [x, s.give(lengths)], time_axis=time, batch_axis=batch)


def identity_axes(s: Sketch) -> None:
    x = s.data(ANY)
    if s.opset >= 13 and s.shape_of(x):
        axes = axes_of(s, len(s.shape_of(x)))
        s.node("ReduceSum", [x, s.give(ints(*axes), 0.3)], keepdims=1, noop_with_empty_axes=1)
