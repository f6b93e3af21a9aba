"""What the fuzzer asks of a package serves the runs that it is asked for."""

from __future__ import annotations

import numpy as np

from tests.fuzz.serving import AS_IT_IS, Serving, serving

OPEN = {"x": ["n", None], "y": [None, "m"], "gone": ["n"]}
FEEDS = [
    {"x": np.zeros((n, 3)), "y": np.zeros((2, m))} for n, m in ((4, 5), (1, 5), (4, 5), (2, 7))
]


def test_bounds_are_those_of_the_runs() -> None:
    found = serving("bounded", OPEN, FEEDS)
    assert found == Serving({"x": ("n=1..4", -1), "y": (-1, "m=5..7")})


def test_every_run_is_listed_once() -> None:
    found = serving("listed", OPEN, FEEDS).listed
    assert [(row["x"], row["y"]) for row in found] == [
        ((4, 3), (2, 5)), ((1, 3), (2, 5)), ((2, 3), (2, 7)),
    ]  # fmt: skip


def test_buckets_part_the_sizes_of_the_runs() -> None:
    found = serving("buckets", OPEN, FEEDS).buckets
    assert found == {"x": {0: [(1, 2), (2, 3), (3, None)]}, "y": {1: [(5, 6), (6, 8), (8, None)]}}


def test_what_is_too_large_asks_for_nothing() -> None:
    huge = {"x": np.broadcast_to(np.zeros(1), (1 << 20, 3)), "y": FEEDS[0]["y"]}
    assert serving("bounded", OPEN, [*FEEDS, huge]) == serving("bounded", OPEN, FEEDS)
    assert serving("bounded", OPEN, [huge]) is AS_IT_IS
    assert serving("bounded", {"x": [None, None]}, FEEDS) is AS_IT_IS
