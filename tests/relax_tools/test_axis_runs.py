"""Which axes hold the same elements before and after a reshape."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tvm_megcc import dims
from tvm_megcc.relax_tools.axis_runs import regrouped

N, M, K = dims.symbol("n", 1), dims.symbol("m"), dims.symbol("k")

#: Shapes before and after, and for each run its axes of both.
RUNS: list[tuple[Sequence[dims.Size], Sequence[dims.Size], str]] = [
    ([], [], ""),
    ([4], [4], "0-0"),
    ([2, 3], [2, 3], "0-0 1-1"),
    ([2, 6, 5], [2, 3, 2, 5], "0-0 1-12 2-3"),
    ([2, 3, 2, 5], [2, 6, 5], "0-0 12-1 3-2"),
    ([2, 3, 4], [24], "012-0"),
    ([24], [2, 3, 4], "0-012"),
    ([4, 6], [6, 4], "01-01"),
    ([4, 6, 5], [2, 12, 5], "01-01 2-2"),
    ([2, 6, 35], [3, 4, 5, 7], "01-01 2-23"),
    # Extents of one: of their own where both have them, and at the end with the last run.
    ([1, 4], [4], "01-0"),
    ([4], [1, 4], "0-01"),
    ([1, 4], [1, 2, 2], "0-0 1-12"),
    ([4, 1, 1], [4], "012-0"),
    ([4], [2, 2, 1], "0-012"),
    ([], [1, 1], "-01"),
    ([1], [], "0-"),
    # Sizes that are known when the model runs.
    ([N, 6], [N, 2, 3], "0-0 1-12"),
    ([N, 6], [6 * N], "01-0"),
    ([6 * M, 5], [M, 6, 5], "0-01 1-2"),
    ([N, 4, M], [2 * N, 2 * M], "012-01"),
    # Any of them may be 0.
    ([6, M, K], [6, M * K], "0-0 12-1"),
    ([M * K, 6], [M, K, 6], "0-01 1-2"),
    ([6, (M + 3) // 4, (K + 3) // 4], [6, ((M + 3) // 4) * ((K + 3) // 4)], "0-0 12-1"),
]


def text(runs: list[tuple[list[int], list[int]]]) -> str:
    return " ".join("-".join("".join(map(str, axes)) for axes in run) for run in runs)


@pytest.mark.parametrize(("source", "target", "runs"), RUNS, ids=str)
def test_runs_are_the_finest(
    source: Sequence[dims.Size], target: Sequence[dims.Size], runs: str
) -> None:
    assert text(regrouped(source, target)) == runs


def test_sizes_that_may_be_either() -> None:
    with pytest.raises(dims.Undecided):
        regrouped([N, 6], [M, 6])
