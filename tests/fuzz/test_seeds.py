"""A fixed row of seeds, each on the host and in one more way to build and run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.fuzz.session import Session
from tests.ops.packages import TOOLS

#: As many as the tests have time for; `scripts/fuzz` draws others.
SEEDS = range(100)
_BATCH = 50


@pytest.mark.parametrize("first", SEEDS[::_BATCH])
def test_seeds_have_no_finding(first: int, tmp_path: Path) -> None:
    there = [arch for arch, tools in TOOLS.items() if all(map(shutil.which, tools))]
    others = ["sanitized", "portable", *(arch for arch in there if arch != "host")]
    session = Session(tmp_path, ("host",), others)
    try:
        found = session.batch(range(first, first + _BATCH))
    finally:
        session.close()
    assert not found, "\n".join(finding.line for finding in found)
