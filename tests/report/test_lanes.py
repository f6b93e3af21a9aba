"""The lanes beside a list of calls."""

from __future__ import annotations

import numpy as np

from tvm_megcc.report.lanes import lanes


def test_a_chain_stays_in_its_lane() -> None:
    found = lanes([[-1], [0], [1]], 1)
    assert found.width == 1 and found.edges == ((-1, 0), (0, 1), (1, 2))


def test_a_residual_keeps_its_lane_and_the_others_branch_off() -> None:
    found = lanes([[-1], [0], [1], [0, 2], [3]], 1)
    assert [found.of[k] for k in range(5)] == [0, 1, 1, 0, 0]


def test_no_edge_runs_through_a_call_that_it_does_not_touch() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        after = [sorted({*rng.integers(-2, k, 3).tolist()}) for k in range(1, 40)]
        after = [[s for s in row if s < k] for k, row in enumerate(after)]
        found = lanes(after, 2)
        for source, call in found.edges:
            between = range(source + 1, call) if source >= 0 else range(call)
            assert all(found.of[k] != found.of[source] for k in between), (source, call)


def test_what_nobody_reads_takes_no_lane() -> None:
    assert lanes([[-1], [-1], [-1]], 1).width == 2
