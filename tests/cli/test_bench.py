"""``tvmc bench``: the numbers of many runs, packages side by side."""

from __future__ import annotations

import json
import os
from pathlib import Path
from statistics import fmean, median, stdev

import numpy as np
import pytest

from tvm_megcc.cli import bench
from tvm_megcc.report.times import percentile, summary


def test_summary_of_times() -> None:
    times = [5.0, 1.0, 4.0, 2.0, 9.0]
    found = summary(times)
    assert (found.runs, found.min, found.max) == (5, 1.0, 9.0)
    assert (found.median, found.mean) == (median(times), fmean(times))
    assert found.deviation == stdev(times)
    for percent in (0, 50, 90, 99, 100):
        assert percentile(times, percent) == pytest.approx(np.percentile(times, percent))
    assert summary([2.0]).deviation == 0 and summary([2.0]).p99 == 2.0


def test_bench_package_and_library_side_by_side(tvmc, package: Path, library: Path) -> None:
    ran = tvmc("bench", package, library, "--repeat", 7, "--rounds", 2, "--warmup", 0)
    assert ran.status == 0, ran.err
    head, *rows = ran.out.splitlines()
    for name in ("min", "median", "mean", "deviation", "p90", "p99"):
        assert f"{name} ms" in head
    assert [row.split()[0] for row in rows] == [str(package), str(library)]
    assert [row.split()[2] for row in rows] == ["7", "7"] and rows[0].endswith(" 1.000")


@pytest.mark.slow
def test_bench_json(tvmc, package: Path) -> None:
    cpu = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    pin = [] if cpu is None else ["--cpus", cpu]
    before = None if cpu is None else os.sched_getaffinity(0)
    args = ["--repeat", 4, "--warmup", 2, "--threads", 2, "--json", *pin]
    (row,) = json.loads(tvmc("bench", package, *args).out)["packages"]
    assert (row["warmup"], row["threads"], row["rounds"]) == (2, 2, 1)
    assert row["cpus"] == (None if cpu is None else [cpu])
    assert len(row["runs_ms"]) == 4 == row["ms"]["runs"]
    assert row["ms"]["median"] == median(row["runs_ms"])
    assert before is None or os.sched_getaffinity(0) == before


def test_bench_runs_are_shared_out() -> None:
    assert bench.shares(7, 3) == [3, 2, 2] and bench.shares(2, 2) == [1, 1]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux pins processes")
def test_bench_cpus(tvmc, package: Path) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    assert bench.read_cpus(f"{cpus[0]}-{cpus[0]}, {cpus[-1]}") == sorted({cpus[0], cpus[-1]})
    for text in ("", "a", "1-", "3-1", "0;1"):
        said = tvmc("bench", package, "--cpus", text).sentence()
        assert "write numbers and ranges" in said
    assert "there is no CPU 999999" in tvmc("bench", package, "--cpus", "999999").sentence()
