"""Every finding of the fuzzer, replayed for good: tests/fuzz/findings."""

from __future__ import annotations

import pytest

from tests.fuzz.replay import FOLDER, replay
from tests.fuzz.session import Session
from tests.turns import in_turn

pytestmark = [pytest.mark.together("fuzzing"), pytest.mark.slow]


#: Findings are replayed in so many parts.
_PARTS = 3


@pytest.mark.parametrize("part", in_turn(_PARTS, range(_PARTS)))
def test_findings_stay_fixed(part: int, fuzzing: Session) -> None:
    found = replay(fuzzing, sorted(FOLDER.glob("*.json"))[part::_PARTS])
    assert not found, "\n".join(f"{name}: {text}" for name, text in found.items())
