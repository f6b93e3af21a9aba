"""Wrong answers of several nodes, none of which is wrong about the operands that it got."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fuzz import carried
from tests.fuzz.feeds import Run
from tests.fuzz.judge import Judge
from tests.fuzz.session import Case, Session
from tests.fuzz.test_fuzz import graph

#: The softmax of the first is 3.7e-39, which our exponential has as 0.
X = np.array([-1, 87.5], np.float32)


def _found(softmax: float, power: float) -> dict[str, np.ndarray]:
    return {"v0": np.array([softmax, 1], np.float32), "v1": np.array([power, 87.5], np.float32)}


@pytest.mark.parametrize(
    ("softmax", "power", "right"), [(0, 1, True), (0.5, np.nan, False), (0, 2, False)]
)
def test_each_node_by_what_it_got(softmax: float, power: float, right: bool) -> None:
    made = graph(("Softmax", ["x"]), ("Pow", ["x", "v0"]), x=X)
    found = _found(softmax, power)
    assert carried.each_is_right(made, made.inputs, found, flushes=False) == right


def test_outputs_are_compared_to_the_bit() -> None:
    a = _found(0, 1)
    assert carried.same({"v1": a["v1"]}, a)
    assert not carried.same({"v1": a["v1"] * np.float32(1 + 2**-23)}, a)
    assert not carried.same({"v2": a["v1"]}, a)


@pytest.mark.slow
def test_what_right_nodes_carry_on_is_no_finding(
    fuzzing: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Judge, "_flushed", lambda judge, name, array: array)
    made = graph(("Softmax", ["x"]), ("Pow", ["x", "v0"]), x=X)
    made.values |= _found(3.7e-39, np.nan)  # of some machines, ONNX Runtime's softmax is 0
    case = Case(0, made, [Run(made.inputs, made.values)], ("host",))
    before = fuzzing.tally.carried
    assert not fuzzing.judge([case])
    assert fuzzing.tally.carried == before + 1
    monkeypatch.setattr(carried, "each_is_right", lambda *args: False)
    assert [f.kind for f in fuzzing.judge([case])] == ["wrong"]
