"""Every finding of the fuzzer, replayed for good: tests/fuzz/findings."""

from __future__ import annotations

import pytest

from tests.fuzz.replay import FOLDER, replay
from tests.fuzz.session import Session

pytestmark = [pytest.mark.together("fuzzing"), pytest.mark.slow]


def test_findings_stay_fixed(fuzzing: Session) -> None:
    found = replay(fuzzing, sorted(FOLDER.glob("*.json")))
    assert not found, "\n".join(f"{name}: {text}" for name, text in found.items())
