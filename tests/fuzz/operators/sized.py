"""Tensors whose size is an input's value, computed with others."""

from __future__ import annotations

import numpy as np
from onnx import helper

from tests.fuzz.data import F32
from tests.fuzz.operators._common import ints, often
from tests.fuzz.sketch import Sketch

_UNARY = ("Exp", "Neg", "Abs", "Relu", "Sigmoid", "Sqrt", "Reciprocal")
_BINARY = ("Add", "Sub", "Mul", "Max", "Greater")


@often(3)
def filled(s: Sketch) -> None:
    """A constant of a shape that is read, beside something that is computed elementwise."""
    x = s.data((F32,), fits=lambda a: 0 < a.ndim < 4 and a.size < 500, tame=True)
    shape = list(s.shape_of(x))
    if s.rng.chance(0.3):
        shape[s.rng.below(len(shape))] = 1
    value = helper.make_tensor("", 1, [1], [s.rng.one((0.0, 1.5))])
    blank = s.node("ConstantOfShape", [s.give(ints(*shape), 0.9)], value=value)
    other = s.node(s.rng.one(_UNARY), [x])
    if blank and other:
        s.node(s.rng.one(_BINARY), s.rng.shuffled([blank[0], other[0]]))


@often(3)
def ramp(s: Sketch) -> None:
    """Numbers up to one that is read, scaled by what is computed from it."""
    limit = s.give(np.array(s.rng.between(1, 6)), 0.9)
    first, step = (s.give(np.array(v), 0.1) for v in (0, 1))
    numbers = s.node("Range", [first, limit, step])
    scale = s.node("Cast", [limit], to=1)
    floats = numbers and s.node("Cast", [numbers[0]], to=1)
    inverse = scale and s.node(s.rng.one(("Reciprocal", "Neg", "Sqrt")), [scale[0]])
    made = floats and inverse and s.node(s.rng.one(_BINARY), [floats[0], inverse[0]])
    if made and s.rng.chance(0.5):
        s.node(s.rng.one(("Not",) if s.dtype_of(made[0]).kind == "b" else _UNARY), [made[0]])
