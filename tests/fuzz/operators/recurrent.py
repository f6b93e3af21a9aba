"""LSTM, GRU, RNN."""

from __future__ import annotations

import numpy as np

from tests.fuzz.data import F32
from tests.fuzz.operators._common import often
from tests.fuzz.sketch import Sketch
from tests.fuzz.texts import PARAMETERS

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_ACTIVATIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}
_NAMES = ("Tanh", "Sigmoid", "Relu", "HardSigmoid", "Softsign", "Softplus", *PARAMETERS)


@often(4)
def recurrent(s: Sketch) -> None:
    op = s.rng.one(("LSTM", "LSTM", "GRU", "GRU", "RNN"))
    gates = _GATES[op]
    direction = s.rng.one((None, "forward", "reverse", "bidirectional"))
    sides = 2 if direction == "bidirectional" else 1
    steps, batch = s.rng.one((1, 2, 3, 3, 5, 5, 9, 0)), s.rng.between(1, 3)
    size, hidden = s.rng.between(1, 4), s.rng.between(1, 4)
    shortest = min(steps, s.rng.below(2))
    layout = 1 if s.opset >= 14 and s.rng.chance(0.1) else None

    def rows(*shape: int, run_time: float = 0.2) -> str:
        return s.give(s.rng.array(F32, shape, tame=True), run_time)

    dims = (batch, steps, size) if layout else (steps, batch, size)
    x = s.data((F32,), fits=lambda a: a.shape == dims, shape=lambda: dims, tame=True)
    state = (batch, sides, hidden) if layout else (sides, batch, hidden)
    operands: list[str | None] = [
        x,
        rows(sides, gates * hidden, size, run_time=0.05),
        rows(sides, gates * hidden, hidden, run_time=0.05),
        rows(sides, 2 * gates * hidden, run_time=0.05) if s.rng.chance(0.7) else None,
        s.give(s.rng.bits.integers(shortest, steps + 1, batch).astype(np.int32))
        if s.rng.chance(0.35)
        else None,
        rows(*state, run_time=0.5) if s.rng.chance(0.5) else None,
    ]
    attrs: dict[str, object] = {"hidden_size": hidden, "direction": direction, "layout": layout}
    if op == "LSTM":
        operands.append(rows(*state, run_time=0.5) if s.rng.chance(0.5) else None)
        operands.append(rows(sides, 3 * hidden) if s.rng.chance(0.2) else None)
        attrs["input_forget"] = s.rng.one((None, None, 0, 1))
    if op == "GRU":
        attrs["linear_before_reset"] = s.rng.one((None, 0, 1))
    if s.rng.chance(0.2):
        names = [s.rng.one(_NAMES) for _ in range(_ACTIVATIONS[op] * sides)]
        attrs["activations"] = names
        # Of the two without an operator of the same name ONNX Runtime takes 0 for what is left out.
        given = 1 if {"Affine", "ScaledTanh"}.intersection(names) else 0.7
        for which, place in (("alpha", 0), ("beta", 1)):
            count = sum(len(PARAMETERS.get(name, ())) > place for name in names)
            if count and s.rng.chance(given):
                numbers = s.rng.bits.uniform(0.1, 1.2, count).astype(np.float32)
                attrs[f"activation_{which}"] = [float(v) for v in numbers]
    if s.rng.chance(0.15):
        attrs["clip"] = 0.75
    wanted = [s.rng.chance(0.7) for _ in range(3 if op == "LSTM" else 2)]
    if not any(wanted):
        wanted[0] = True
    while not wanted[-1]:
        wanted.pop()
    s.node(op, operands, wanted, **attrs)
