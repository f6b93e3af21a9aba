"""ONNX's whole suite. Each case gives ONNX's answer, or it is in one of two lists.

``left_out.txt`` names those that are not run, ``refused.txt`` those that may end with one of our
errors. A case that is in neither list and does not pass, or gives a wrong answer, fails; one that
is listed as refused and passes is reported at the end of the run. Sanitizers watch every run.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.onnx_suite import outcomes
from tests.onnx_suite.cases import all_cases, with_initialisers
from tests.turns import in_turn

SHARDS = 24

pytestmark = [
    pytest.mark.skipif(
        not (shutil.which("make") and shutil.which("cc")), reason="needs make and cc"
    ),
    pytest.mark.slow,
]


@pytest.mark.parametrize("shard", in_turn(3, range(SHARDS)))
def test_cases(shard: int, record_property: Callable[[str, object], None]) -> None:
    cases = list(all_cases().values())
    # Neighbours are of one operator and share kernels.
    first, end = (len(cases) * k // SHARDS for k in (shard, shard + 1))
    may_be_refused = outcomes.refused()
    failed = []
    for outcome in outcomes.outcomes(cases[first:end], sanitize=True):
        listed = outcome.name in may_be_refused
        if outcome.status == "pass" and listed:
            record_property("gained", (f"tests/onnx_suite/refused.txt: {outcome.name}", "passes"))
        elif outcome.status not in ("pass", "left out") and not (
            listed and outcome.status == "refused"
        ):
            failed.append(f"{outcome.name}: {outcome.status}: {outcome.said}")
    assert not failed, "\n".join(failed)


def test_cases_with_initialisers() -> None:
    """What a converter is told of an initialiser differs from what it is told of an input."""
    may_be_refused = outcomes.refused()
    cases = [case for name, case in all_cases().items() if name not in may_be_refused]
    found = outcomes.outcomes([with_initialisers(case) for case in cases[::12]])
    assert not [outcome for outcome in found if outcome.status not in ("pass", "left out")]


@pytest.mark.parametrize("listed", [outcomes.left_out, outcomes.refused])
def test_listed_names_exist(listed: Callable[[], dict[str, str]]) -> None:
    """A name that no case has would never be missed, and every case is listed for a reason."""
    assert set(listed()) <= set(all_cases())
    assert all(listed().values())


def test_lists_do_not_overlap() -> None:
    assert not set(outcomes.left_out()) & set(outcomes.refused())


def test_operators_page_is_up_to_date() -> None:
    script = Path(__file__).resolve().parents[2] / "scripts" / "gen_operator_docs.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
