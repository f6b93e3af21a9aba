"""Shapes that are computed: what exporters write around Reshape, Expand, Slice and Resize."""

from __future__ import annotations

import numpy as np

from tests.fuzz.data import F32, F64, I32, I64
from tests.fuzz.operators._common import ints, often, output
from tests.fuzz.sketch import Sketch, Unfit


def _cast(s: Sketch, x: str, dtype: np.dtype) -> str:
    return output(s.node("Cast", [x], to={F32: 1, F64: 11, I32: 6, I64: 7}[dtype]))


def _one(s: Sketch, x: str) -> str:
    """A dim of ``x``, as ``[1]`` or a scalar."""
    rank = len(s.shape_of(x))
    shape = output(s.node("Shape", [x]))
    k = s.rng.between(-rank, rank - 1)
    if s.rng.chance(0.6) or s.opset < 10:
        k = k if s.opset >= 11 else k % rank
        place = np.array(k) if s.rng.chance(0.7) else ints(k)
        return output(s.node("Gather", [shape, s.give(place, 0)], axis=0))
    k %= rank
    return output(s.node("Slice", [shape, *(s.give(ints(v), 0) for v in (k, k + 1, 0))]))


def _changed(s: Sketch, dim: str) -> str:
    """Arithmetic with a dim: in integers, or in real numbers and back."""
    kind = s.rng.one(("none", "integers", "integers", "reals", "narrow"))
    if kind == "none":
        return dim
    if kind == "narrow":
        dim = _cast(s, dim, I32)
    elif kind == "reals":
        dim = _cast(s, dim, s.rng.one((F32, F32, F64)))
    dtype = s.dtype_of(dim)
    for _ in range(s.rng.between(1, 3)):
        op = s.rng.one(("Add", "Sub", "Mul", "Div", "Max", "Min", "Mod", "Neg", "Abs"))
        if op == "Mod" and kind == "reals" or op in ("Max", "Min") and s.opset < 12:
            continue
        if op in ("Neg", "Abs"):
            dim = output(s.node(op, [dim]))
            continue
        if dtype.kind == "f":
            value = s.rng.one((2.0, 0.5, 1.0, 3.0, 0.3, 1.5, -1.0))
        else:
            value = s.rng.one((2, 1, 3, -1, 4, 7)) if op != "Mod" else s.rng.one((2, 3, -3))
        number = s.give(np.array(value, dtype).reshape(s.rng.one(((), (1,)))), 0.05)
        swap = op not in ("Div", "Mod") and s.rng.chance(0.4)
        dim = output(s.node(op, [number, dim] if swap else [dim, number]))
    if dtype.kind == "f":
        if s.rng.chance(0.6):
            dim = output(s.node(s.rng.one(("Floor", "Ceil", "Round")), [dim]))
        if not np.isfinite(s.values[dim]).all() or np.abs(s.values[dim]).max() > 1e6:
            raise Unfit
    return dim if dtype == I64 else _cast(s, dim, I64)


def _entry(s: Sketch, x: str) -> str:
    """A computed size of at most 12, as ``[1]``."""
    dim = _changed(s, _one(s, x))
    if not 0 <= int(s.values[dim].reshape(-1)[0]) <= 12:
        raise Unfit
    if s.shape_of(dim) == (1,):
        return dim
    if s.opset < 13:
        return output(s.node("Unsqueeze", [dim], axes=[0]))
    return output(s.node("Unsqueeze", [dim, s.give(ints(0), 0)]))


@often(6)
def computed_shape(s: Sketch) -> None:
    x = s.data((F32, F32, I64), fits=lambda a: 1 <= a.ndim <= 4 and a.size < 800,
               shape=lambda: s.rng.shape(s.rng.between(1, 4)))  # fmt: skip
    shape = s.shape_of(x)
    op = s.rng.one(("Reshape", "Expand", "ConstantOfShape", "Slice", "Tile", "Range", "Pad"))
    if op == "Range":
        end = _changed(s, _one(s, x))
        if s.shape_of(end) == (1,):
            end = output(s.node("Squeeze", [end]))
        if abs(int(s.values[end])) > 50:
            return
        first, step = s.give(np.array(0), 0.1), s.give(np.array(s.rng.one((1, 1, 2, -1))), 0.1)
        s.node(op, [first, end, step])
        return
    if op == "Slice":
        if s.opset < 10:
            return
        axis = s.rng.below(len(shape))
        start = s.give(ints(s.rng.below(2)), 0.1) if s.rng.chance(0.5) else _entry(s, x)
        step = s.give(ints(s.rng.one((1, 2, -1))), 0.1)
        ends = _entry(s, x)
        if s.rng.chance(0.2):
            ends = output(s.node("Neg", [ends]))
        s.node(op, [x, start, ends, s.give(ints(axis), 0), step])
        return
    if op == "Pad":
        if s.opset < 11 or s.dtype_of(x) != F32:
            return
        widths = [_entry(s, x) if s.rng.chance(0.3) else s.give(ints(s.rng.below(2)), 0.1)
                  for _ in range(2 * len(shape))]  # fmt: skip
        s.node(op, [x, output(s.node("Concat", widths, axis=0))])
        return
    count = len(shape) if op == "Tile" else s.rng.between(1, 3)
    if op == "Expand":
        count = max(count, len(shape))
    if op == "Reshape" and s.rng.chance(0.5):
        sizes = [_one(s, x), s.give(ints(s.rng.one((-1, -1, 1))), 0)]
        sizes = s.rng.shuffled(sizes if s.shape_of(sizes[0]) == (1,) else sizes[1:])
    else:
        sizes = [_entry(s, x) if s.rng.chance(0.6) else s.give(ints(s.rng.one((1, 1, 2, 3))), 0)
                 for _ in range(count)]  # fmt: skip
        if op == "Reshape":
            sizes[s.rng.below(count)] = s.give(ints(-1), 0)
    target = output(s.node("Concat", sizes, axis=0))
    if s.values[target].size and np.prod(np.maximum(s.values[target], 1), dtype=float) > 3000:
        return
    s.node(op, [target] if op == "ConstantOfShape" else [x, target])


@often(2)
def computed_resize(s: Sketch) -> None:
    """Sizes of a Resize, or of an upper layer, from another image's."""
    if s.opset < 11:
        return
    dims = (1, s.rng.between(1, 3), s.rng.between(1, 6), s.rng.between(1, 6))
    x = s.give(s.rng.array(F32, dims, tame=True), 0.95)
    shape = output(s.node("Shape", [x]))
    first = output(s.node("Slice", [shape, *(s.give(ints(v), 0) for v in (0, 2, 0))]))
    target = output(s.node("Concat", [first, _entry(s, x), _entry(s, x)], axis=0))
    empty = s.give(np.zeros(0, np.float32), 0) if s.opset < 13 else None
    s.node("Resize", [x, empty, empty, target], mode=s.rng.one(("nearest", "linear")),
           coordinate_transformation_mode=s.rng.one((None, "asymmetric")))  # fmt: skip
