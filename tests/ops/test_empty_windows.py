"""Windows that fit nowhere along an axis: the result has no elements, whatever computes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.ops.cases import Weight
from tests.ops.together import Case, Open, check_together

pytestmark = pytest.mark.slow


def cases(rank: int) -> Iterator[Case]:
    """A window that reaches 5 elements of an axis of 4, beside axes of open size."""
    shape, names = (2, 2, *[6] * (rank - 1), 4), ["n", 2, *["h"] * (rank - 1), 4]
    dilated = {"dilations": [2] * rank}
    empty = (2, 2, *[2] * (rank - 1), 0)
    for dtype in ("float32", "float64", "float16"):
        data = Open(np.ones(shape, dtype), names)
        weight = Weight(np.ones((2, 2, *[3] * rank)), dtype)
        none = [np.zeros(empty, dtype)]
        yield Case("Conv", [data, weight], dilated, opset=22, want=none)
        for op in ("MaxPool", "AveragePool", "LpPool"):
            yield Case(op, [data], {"kernel_shape": [3] * rank, **dilated}, opset=22, want=none)
    data = Open(np.ones(shape, "uint8"), names)
    weight = Weight(np.ones((2, 2, *[3] * rank)), "int8")
    none32, none8 = ([np.zeros(empty, dtype)] for dtype in ("int32", "uint8"))
    yield Case("ConvInteger", [data, weight], dilated, opset=22, want=none32)
    step, point = Weight(0.5, "float32"), Weight(3, "uint8")
    operands = [data, step, point, weight, step, Weight(0, "int8"), step, point]
    yield Case("QLinearConv", operands, dilated, opset=22, want=none8)


@pytest.mark.parametrize("rank", (1, 2, 3))
def test_a_window_that_fits_nowhere(rank: int, tmp_path: Path) -> None:
    check_together(cases(rank), tmp_path)


def test_a_mean_over_nothing_beside_an_open_dim(tmp_path: Path) -> None:
    shape, names = (4, 5, 3, 0), [4, 5, "h", 0]
    data, five = Open(np.ones(shape, "float32"), names), Weight(np.ones(5), "float32")
    none = [np.zeros(shape, "float32")]
    rows = [
        Case("InstanceNormalization", [data, five, five], {}, opset=22, want=none),
        Case("GroupNormalization", [data, five, five], {"num_groups": 1}, opset=22, want=none),
        Case("MeanVarianceNormalization", [data], {}, opset=22, want=none),
        Case("LpNormalization", [data], {}, opset=22, want=none),
        Case("Softmax", [data], {}, opset=22, want=none),
        Case("LRN", [data], {"size": 3}, opset=22, want=none),
    ]
    check_together(rows, tmp_path)
