"""What runs of one kernel are summed up to."""

from __future__ import annotations

import pytest

from tvm_megcc.tuning.measuring import by_call, middle


@pytest.mark.parametrize(
    "samples, median, spread",
    [([7.0], 7, 0), ([1.0, 3.0], 2, 3), ([4.0, 1.0, 2.0], 2, 3), ([5.0] * 9, 5, 0),
     ([9.0, 1, 2, 3, 4, 5, 6], 4, 4), ([1.0, 2, 3, 4, 5, 6, 7, 1000], 4.5, 4.5)],
)  # fmt: skip
def test_median_and_spread(samples: list[float], median: float, spread: float) -> None:
    assert middle(samples) == (median, spread)


def test_costs_of_each_call_in_their_order() -> None:
    found = by_call([0, 2, 0, 1, 2, 0], [5, 1, 6, 2, 3, 4])
    assert found == {0: (5, 6, 4), 2: (1, 3), 1: (2,)}
    assert by_call([], []) == {}
    with pytest.raises(ValueError):
        by_call([0, 1], [5.0])
