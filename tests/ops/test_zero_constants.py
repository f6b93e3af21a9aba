"""Floats that meet a constant 0 or NaN, as an operand or as an attribute: 0 times NaN is NaN."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from tests.ops.cases import Weight
from tests.ops.together import Case, check_together

INF, NAN = np.inf, np.nan
FAR = (NAN, INF, -INF, -1, 1, -0.0, 0)
CONSTANTS = (0.0, NAN)
BINARY = {"Add": {}, "Sub": {}, "Mul": {}, "Div": {}, "Max": {}, "Min": {}, "Mod": {"fmod": 1}}
UNARY = (
    ("Selu", {"gamma": 0.0}),
    ("Selu", {"alpha": 0.0}),
    ("Elu", {"alpha": 0.0}),
    ("LeakyRelu", {"alpha": 0.0}),
    ("HardSigmoid", {"alpha": 0.0}),
    ("HardSigmoid", {"beta": 0.0}),
    ("ThresholdedRelu", {"alpha": 0.0}),
)


def cases(dtype: str) -> Iterator[Case]:
    x = np.array(FAR, dtype)
    for op, attrs in UNARY:
        yield Case(op, [x], attrs)
    if dtype == "float32":
        for point in ("uint8", "int8"):
            yield Case("QuantizeLinear", [x, Weight(0.0, dtype), Weight(3, point)])
    for value in CONSTANTS:
        weight = Weight(value, dtype)  # without dims: such a one TVM writes into the expression
        for op, attrs in BINARY.items():
            yield Case(op, [x, weight], attrs)
            yield Case(op, [weight, x], attrs)
        if np.isfinite(value):  # both evaluators multiply numbers, too, that are not negative
            yield Case("PRelu", [x, weight])


@pytest.mark.slow
def test_constants(tmp_path: Path) -> None:
    check_together(chain(*map(cases, ("float16", "float32", "float64"))), tmp_path)


@pytest.mark.slow
def test_integers_and_places_of_nothing(tmp_path: Path) -> None:
    """Divided by 0 an integer is 0 here; of an empty tensor no place is worked out."""
    x = np.array([-3, 0, 7])
    none = np.zeros((2, 0, 3), "f4")
    found = [Case("Div", [x, Weight(0)], want=[0 * x]), Case("Mod", [x, Weight(0)], want=[0 * x])]
    check_together([*found, Case("NonZero", [none], want=[np.zeros((3, 0), "i8")])], tmp_path)


@pytest.mark.slow
def test_an_activation_behind_a_product(tmp_path: Path) -> None:
    operands = [np.array([FAR, FAR], "f4"), Weight(np.ones((len(FAR), 2)), "f4")]
    attrs = {"activation": "LeakyRelu", "activation_alpha": 0.0}
    case = Case("FusedGemm", [*operands, Weight([NAN, 1], "f4")], attrs, domain="com.microsoft")
    check_together([case], tmp_path)
