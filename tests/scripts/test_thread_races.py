"""`scripts/thread_races.py` runs a model under ThreadSanitizer, and says what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from tvm_megcc.core import splitting

from .test_scripts import load, needs_cc

pytestmark = pytest.mark.slow

races = load("thread_races")


@needs_cc
def test_a_model_is_clean(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(splitting, "PIECE", splitting.PIECE)  # which the script changes
    assert races.main(["tiny_mlp", "--threads", "2"]) == 0
    assert "1 of 1 models are clean on [2] threads" in capsys.readouterr().out


@needs_cc
def test_outputs_that_differ_are_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def run(*_: object, args: Sequence[str], **__: object) -> SimpleNamespace:
        return SimpleNamespace(outputs={"y": np.array([float(args[1])])})

    monkeypatch.setattr(splitting, "PIECE", splitting.PIECE)
    monkeypatch.setattr(races.toolchain, "run_package", run)
    monkeypatch.setattr(races.toolchain, "build", lambda *_, **__: "run")
    assert races.main(["tiny_mlp", "--threads", "2"]) == 1
    assert "output 'y' differs on 2 threads" in capsys.readouterr().out
