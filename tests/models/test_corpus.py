"""The judge itself: what counts as right, and that it can say no."""

from __future__ import annotations

import json

import corpus
import numpy as np
import onnx
import pytest
from onnx import numpy_helper


def make_case(folder, noise=0.0, **outputs):
    for i, (name, value) in enumerate(outputs.items()):
        onnx.save_tensor(numpy_helper.from_array(value, name), folder / f"output_{i}.pb")
    return corpus.Case("c", folder, {}, dict.fromkeys(outputs, noise))


def verdict(folder, got, want, noise=0.0):
    (difference,) = corpus.compare({"y": got}, make_case(folder, noise, y=want))
    return difference


@pytest.mark.parametrize(("error", "ok"), [(0.9e-3, True), (1.1e-3, False)])
def test_corpus_relative_tolerance_is_of_the_largest_magnitude(tmp_path, error, ok):
    want = np.array([10.0, 0.0], np.float32)
    assert verdict(tmp_path, want + np.float32([0, error]), want).ok is ok


@pytest.mark.parametrize(("error", "ok"), [(0.4, True), (0.6, False)])
def test_corpus_noise_floor_widens_five_times(tmp_path, error, ok):
    want = np.array([10.0, 0.0], np.float32)
    assert verdict(tmp_path, want + np.float32([0, error]), want, noise=0.1).ok is ok


def test_corpus_labels_must_be_equal(tmp_path):
    want = np.array([30000, 2], np.int64)
    assert verdict(tmp_path, want.copy(), want).ok
    assert not verdict(tmp_path, want + [1, 0], want).ok


def test_corpus_zero_reference_takes_an_absolute_tolerance(tmp_path):
    zero = np.zeros(3, np.float32)
    assert verdict(tmp_path, zero + np.float32(0.9e-7), zero).ok
    assert not verdict(tmp_path, zero + np.float32(1.1e-7), zero).ok


@pytest.mark.parametrize(("model", "ok"), [("hand_landmark_mp", True), ("another", False)])
def test_corpus_inexact_reference_is_an_exception_of_one_model(tmp_path, model, ok):
    folder = tmp_path / model / "test_data_set_0"
    folder.mkdir(parents=True)
    want = np.float32([1.1026859e-06])
    case = make_case(folder, Identity_2=want)
    (exact,) = corpus.compare({"Identity_2": np.float32([1.13288762e-06])}, case)
    (far,) = corpus.compare({"Identity_2": np.float32([2e-06])}, case)
    assert (exact.ok, far.ok) == (ok, False)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_corpus_nan_and_infinity_must_stand_where_they_stood(tmp_path, bad):
    want = np.array([1.0, bad], np.float32)
    assert verdict(tmp_path, want.copy(), want).ok
    assert "NaN" in verdict(tmp_path, want[::-1].copy(), want).problem
    assert not verdict(tmp_path, np.float32([1, 2]), want).ok


def test_corpus_shape_dtype_missing_and_extra_are_problems(tmp_path):
    want = np.zeros((2, 1), np.float32)
    assert "float32[2]" in verdict(tmp_path, want.reshape(2), want).problem
    assert "float64" in verdict(tmp_path, want.astype(np.float64), want).problem
    case = make_case(tmp_path, y=want)
    assert {(d.output, d.ok) for d in corpus.compare({"z": want}, case)} == {
        ("y", False),
        ("z", False),
    }


def test_corpus_groups_cases_by_shape(tmp_path):
    def case(name, n):
        return {"name": name, "dir": name, "input_shapes": {"x": [n]}, "outputs": []}

    entry = {"name": "m", "cases": [case("a", 1), case("b", 2), case("c", 1)]}
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "model.onnx").write_bytes(b"")
    absent = {"name": "absent", "cases": []}
    (tmp_path / "INDEX.json").write_text(json.dumps([entry, absent]))
    models = corpus.load(tmp_path)
    assert list(models) == ["m"]
    sets = models["m"].shape_sets()
    assert [(s, [c.name for c in cs]) for s, cs in sets] == [
        ({"x": (1,)}, ["a", "c"]),
        ({"x": (2,)}, ["b"]),
    ]
