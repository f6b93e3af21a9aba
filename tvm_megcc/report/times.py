"""Statistics of the times of many runs.

Example
-------
>>> summary([3.0, 1.0, 2.0]).median, round(percentile([1.0, 2.0, 3.0], 90), 6)
(2.0, 2.8)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev


@dataclass(frozen=True, slots=True)
class Times:
    """Statistics of run times, in their unit; ``deviation`` is the sample's standard deviation."""

    runs: int
    min: float
    median: float
    mean: float
    deviation: float
    p90: float
    p95: float
    p99: float
    max: float


def summary(times: Sequence[float]) -> Times:
    """Statistics of at least one time."""
    return Times(
        runs=len(times),
        min=min(times),
        median=median(times),
        mean=fmean(times),
        deviation=stdev(times) if len(times) > 1 else 0.0,
        p90=percentile(times, 90),
        p95=percentile(times, 95),
        p99=percentile(times, 99),
        max=max(times),
    )


def percentile(times: Sequence[float], percent: float) -> float:
    """The time that so many of a hundred runs stay below, between two runs by their distance."""
    ordered = sorted(times)
    place = (len(ordered) - 1) * percent / 100
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
