"""The rounds of tuning: what is tried, what is kept, and what happens when something goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tuning.support import Fake, compiler, job, kernels
from tvm_megcc.tuning import apply_best
from tvm_megcc.tuning.measuring import NoBoardError
from tvm_megcc.tuning.records import read
from tvm_megcc.tuning.search import tune

#: What is cheap: the reference of the depthwise convolution, else what is usual.
REF = "megcc_conv2d_nhwc_f32_ref"


def cost(symbol: str) -> float:
    return {REF: 5.0}.get(symbol[: len(REF)], 50.0 if "transpose" in symbol else 20.0)


@pytest.fixture(scope="module")
def compile():
    return compiler()


def tuned(compile, path: Path) -> list[str]:
    with apply_best(path):
        return kernels(compile())


@pytest.mark.slow
def test_tuning_takes_the_cheapest_and_says_what_it_gained(compile, tmp_path: Path) -> None:
    fake, path = Fake(cost), tmp_path / "r.json"
    lines: list[str] = []
    report = tune(job(compile, fake, path, tell=lines.append))
    before = kernels(compile())
    assert sum(REF in symbol for symbol in before) == 0
    after = tuned(compile, path)
    assert sum(REF in symbol for symbol in after) == 2
    assert (report.before, report.after) == (sum(map(cost, before)), sum(map(cost, after)))
    assert report.after == report.before - 2 * 15
    row = next(row for row in report.rows if row.best.endswith("_ref"))
    assert row.gain == 15 and row.default in row.costs and row.costs[row.worst] == 20
    # As many builds as the call of most candidates has further ones, and one before and after.
    assert report.builds == len(fake.runs) - 2 == max(len(row.costs) for row in report.rows) - 1
    assert any("best so far" in line and "left" in line for line in lines)


@pytest.mark.slow
def test_tuning_again_measures_nothing_twice(compile, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    first = tune(job(compile, Fake(cost), path))
    again = Fake(cost)
    second = tune(job(compile, again, path))
    assert first.records > 0 and second.records == 0 and second.builds == 0
    assert second.after == first.after and len(second.rows) == len(first.rows)
    # Records of another file are as good.
    third = tune(job(compile, Fake(cost), tmp_path / "new.json", earlier=[path]))
    assert third.records == 0 and third.after == first.after


def test_tuning_stops_after_the_trials_or_the_time(compile, tmp_path: Path) -> None:
    assert tune(job(compile, Fake(cost), tmp_path / "a", trials=1)).builds == 1
    assert tune(job(compile, Fake(cost), tmp_path / "b", seconds=0.0)).builds == 0


@pytest.mark.parametrize("how", ["broken", "wrong"])
def test_tuning_refuses_what_fails_and_keeps_the_rest(compile, tmp_path: Path, how: str) -> None:
    path = tmp_path / "r.json"
    fake = Fake(cost, **{how: {f"{REF}_act2"}})
    report = tune(job(compile, fake, path))
    why = "status 139" if how == "broken" else "output 'y' differs"
    (line,) = report.refused
    assert line.startswith("conv2d_nhwc_f32_ref for conv2d: ") and why in line
    refused = [record for record in read(path).records if record.cost is None]
    assert len(refused) == 1 and why in refused[0].why
    after = tuned(compile, path)
    assert sum(REF in symbol for symbol in after) == 1
    assert report.after == report.before - 15


@pytest.mark.slow
def test_tuning_refuses_what_makes_the_whole_model_slower(compile, tmp_path: Path) -> None:
    """The reference saves by itself, but the model takes more around it."""
    path = tmp_path / "r.json"
    fake = Fake(cost, around=lambda found: 1000.0 * any(f"{REF}_act2" in s for s in found))
    report = tune(job(compile, fake, path))
    assert report.after is not None and report.after < report.before
    assert not any(f"{REF}_act2" in symbol for symbol in tuned(compile, path))
    fake = Fake(cost, around=lambda found: 1000.0 * any(REF in s for s in found))
    report = tune(job(compile, fake, tmp_path / "s.json"))
    assert report.after == report.before
    assert tuned(compile, tmp_path / "s.json") == kernels(compile())


def test_tuning_keeps_what_was_measured_when_it_is_interrupted(compile, tmp_path: Path) -> None:
    class Interrupted(Fake):
        def run(self, *args):
            if len(self.runs) == 2:
                raise KeyboardInterrupt
            return super().run(*args)

    path = tmp_path / "r.json"
    report = tune(job(compile, Interrupted(cost), path))
    assert report.stopped == "interrupted" and report.after is None
    assert report.records == len(read(path).records) > len(report.rows) > 0


@pytest.mark.slow
def test_tuning_measures_as_many_rounds_at_once_as_there_are_boards(compile, tmp_path) -> None:
    fake = Fake(cost, slots=3)
    report = tune(job(compile, fake, tmp_path / "r.json"))
    one = tune(job(compile, Fake(cost), tmp_path / "s.json"))
    assert report.after == one.after and report.records == one.records
    assert report.builds == one.builds


def test_tuning_stops_where_nothing_can_be_measured_any_more(compile, tmp_path: Path) -> None:
    """The candidates that were not measured are not to blame."""

    class Dead(Fake):
        def run(self, *args):
            if len(self.runs) == 2:
                raise NoBoardError("the last board is gone")
            return super().run(*args)

    path = tmp_path / "r.json"
    report = tune(job(compile, Dead(cost), path))
    assert report.stopped == "the last board is gone" and not report.refused
    assert len(read(path).records) == report.records > 0
    assert tune(job(compile, Fake(cost), path)).after == report.before - 30
