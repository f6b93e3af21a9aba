"""A fixed row of seeds, each on the host and in one more way to build, to run and to compile."""

from __future__ import annotations

import pytest

from tests.fuzz.session import Session
from tests.turns import in_turn

pytestmark = [pytest.mark.together("fuzzing"), pytest.mark.slow]

#: As many as the tests have time for; `scripts/fuzz` draws others.
SEEDS = range(80)
_BATCH = 40


@pytest.mark.parametrize("first", in_turn(2, SEEDS[::_BATCH]))
def test_seeds_have_no_finding(first: int, fuzzing: Session) -> None:
    found = fuzzing.batch(range(first, first + _BATCH))
    assert not found, "\n".join(finding.line for finding in found)
