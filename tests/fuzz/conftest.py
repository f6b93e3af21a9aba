"""One session for the replays and the seeds: they share the runtime and most kernels."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.fuzz.session import Session
from tests.ops.packages import TOOLS


@pytest.fixture(scope="session")
def fuzzing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session that builds for every architecture whose tools are there."""
    there = [arch for arch, tools in TOOLS.items() if all(map(shutil.which, tools))]
    others = ["sanitized", "portable", *(arch for arch in there if arch != "host")]
    session = Session(tmp_path_factory.mktemp("fuzz"), ("host",), others, rotate=True)
    yield session
    session.close()
