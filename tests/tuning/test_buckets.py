"""A model with a program for each bucket: each is tuned at its sizes, and they may differ."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.tuning.support import Fake, kernels
from tvm_megcc import driver, zoo
from tvm_megcc.core.preference import Preference
from tvm_megcc.dynamic_options import DynamicOptions
from tvm_megcc.host import arrays
from tvm_megcc.tuning import apply_best, session
from tvm_megcc.tuning.records import read

SHAPES = {"input": ("n", 3, 8, 8)}
BUCKETS = DynamicOptions(buckets={"input": {0: [(2, 3), (64, 65)]}}, fallback="none")
BLOCK = "megcc_gemm_block24"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = zoo.build("tiny_mlp")
    for port in (*found.graph.input, *found.graph.output):
        port.type.tensor_type.shape.dim[0].dim_param = "n"
    path = tmp_path_factory.mktemp("model") / "rows.onnx"
    onnx.save(found, path)
    return path


def compiled(model: Path):
    return driver.compile_programs(
        model, ["arm64"], input_shapes=SHAPES, dynamic=BUCKETS, preference=Preference("size")
    )["arm64"]


def test_buckets_get_kernels_of_their_own(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short blocks pay for two rows only; with `size` no second form of the weights is allowed."""
    program = compiled(model)
    few, many = session.cases(program, None, ())
    assert [case["input"].shape[0] for case in (few, many)] == [2, 64]

    class ByRows(Fake):
        def _run(self, found):
            rows = len(self.runs) % 2  # the cases come in turns
            self.cost = lambda symbol: (5 if rows == 0 else 50) if BLOCK in symbol else 20
            return super()._run(found)

    fake = ByRows()
    monkeypatch.setattr(session, "measurer_for", lambda *_: fake)
    report = session.tune_model(
        model,
        tmp_path / "r.json",
        arch="arm64",
        input_shapes=SHAPES,
        dynamic=BUCKETS,
        preference=Preference("size"),
    )
    assert report.after is not None and report.after < report.before and not report.unseen
    facts = {record.task.facts for record in read(tmp_path / "r.json").records}
    assert any('"m": 2,' in text for text in facts) and any('"m": 64,' in text for text in facts)
    with apply_best(tmp_path / "r.json"):
        tuned = compiled(model)
    assert sum(BLOCK in symbol for symbol in kernels(tuned, few)) == 2
    assert not any(BLOCK in symbol for symbol in kernels(tuned, many))
    # Their weights are packed alike: they are there once.
    weights = [{w.data for w in variant.program.weights} for variant in tuned.variants]
    assert weights[0] == weights[1]
    assert tuned.variants[0].program.spending.spent_bytes == 0


def test_buckets_are_measured_at_their_ends(model: Path) -> None:
    open_end = DynamicOptions(buckets={"input": {0: [(1, 2), (2, 9), (9, None)]}}, fallback="none")
    program = driver.compile_programs(model, ["arm64"], input_shapes=SHAPES, dynamic=open_end)[
        "arm64"
    ]
    cases = session.cases(program, None, ())
    assert [case["input"].shape[0] for case in cases] == [1, 8, 9]
    asked = session.cases(program, None, [{"input": (3, 3, 8, 8)}])
    assert arrays.fill([], "random") == {} and [c["input"].shape[0] for c in asked] == [3]


def test_open_sizes_are_measured_at_all_that_are_given(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A form that saves at few rows and loses more at many is taken where few are what counts."""

    class ByRows(Fake):
        rows = (2, 64)

        def _run(self, found):
            saves = self.rows[len(self.runs) % len(self.rows)] == 2  # the cases come in turns
            self.cost = lambda symbol: 20 + (-15 if saves else 30) * (BLOCK in symbol)
            return super()._run(found)

    fake = ByRows()
    monkeypatch.setattr(session, "measurer_for", lambda *_: fake)
    path = tmp_path / "r.json"
    for rows, is_taken in (((2, 64), False), ((2,), True)):
        fake.rows = rows
        fake.runs.clear()
        report = session.tune_model(
            model,
            path,
            arch="arm64",
            input_shapes=SHAPES,
            preference=Preference("size"),
            sizes=[{"input": (n, 3, 8, 8)} for n in rows],
        )
        assert report.records > 0 and (report.after < report.before) is is_taken
        with apply_best(path):
            tuned = driver.compile_programs(
                model, ["arm64"], input_shapes=SHAPES, preference=Preference("size")
            )["arm64"]
        assert any(BLOCK in symbol for symbol in kernels(tuned)) is is_taken
    short = (("MEGCC_GEMM_BLOCK", 24),)
    costs = {r.at: r.cost for r in read(path).records if r.parameters == short}
    assert costs == {"m=2,64": (5 + 50) / 2, "m=2": 5}
