"""Transforms and windows of signals."""

from __future__ import annotations

import numpy as np

from tests.fuzz.data import F32, F64, I32, I64
from tests.fuzz.operators._common import often
from tests.fuzz.sketch import Sketch


@often(2)
def dft(s: Sketch) -> None:
    if s.opset < 17:
        return
    inverse = s.rng.one((None, 0, 1))
    onesided = s.rng.one((None, 0, 1))
    if inverse and onesided and s.opset < 20:
        onesided = None
    parts = 2 if inverse or not onesided and s.rng.chance(0.5) else 1
    signal = s.rng.shape(s.rng.between(2, 3), 1)
    dtype = s.rng.one((F32, F32, F64))
    x = s.give(s.rng.array(dtype, (*signal, parts), tame=True), 0.9)
    axis = s.rng.between(1, len(signal) - 1)
    axis = axis - len(signal) - 1 if s.rng.chance(0.4) else axis
    length = s.give(np.array(s.rng.between(1, 9)), 0.3) if s.rng.chance(0.4) else None
    flags = {"inverse": inverse, "onesided": onesided}
    if s.opset < 20:
        s.node("DFT", [x, length], axis=axis if s.rng.chance(0.7) else None, **flags)
    else:
        given = s.give(np.array(axis), 0.4) if s.rng.chance(0.7) else None
        s.node("DFT", [x, length, given], **flags)


@often(2)
def stft(s: Sketch) -> None:
    if s.opset < 17:
        return
    length, step = s.rng.between(1, 8), s.rng.between(1, 5)
    samples = length + s.rng.below(12)
    parts = s.rng.one((1, 1, 2))
    shape = (s.rng.between(1, 3), samples, parts)
    window = s.give(s.rng.array(F32, (length,), tame=True), 0.3) if s.rng.chance(0.6) else None
    given = s.give(np.array(length), 0.3) if window is None or s.rng.chance(0.5) else None
    x = s.give(s.rng.array(F32, shape, tame=True), 0.9)
    s.node("STFT", [x, s.give(np.array(step), 0.3), window, given],
           onesided=0 if parts == 2 else s.rng.one((None, 0, 1)))  # fmt: skip


def window(s: Sketch) -> None:
    if s.opset < 17:
        return
    # Not Blackman's, whose first element is what rounding leaves of 0: any sign, any size.
    op = s.rng.one(("HannWindow", "HammingWindow"))
    size = s.give(np.array(s.rng.between(1, 9), s.rng.one((I32, I64))), 0.5)
    s.node(op, [size], periodic=s.rng.one((None, 0, 1)),
           output_datatype=s.rng.one((None, 1, 11)))  # fmt: skip


def mel_weights(s: Sketch) -> None:
    if s.opset < 17:
        return
    bands, length = s.rng.between(1, 5), s.rng.one((8, 16, 31))
    rate = s.rng.one((8000, 16000))
    edges = s.rng.one((0.0, 100.0)), s.rng.one((rate / 2, rate / 4))
    numbers = [np.array(v) for v in (bands, length, rate)]
    numbers += [np.array(v, np.float32) for v in edges]
    s.node("MelWeightMatrix", [s.give(v, 0.3) for v in numbers],
           output_datatype=s.rng.one((None, 1, 11)))  # fmt: skip
