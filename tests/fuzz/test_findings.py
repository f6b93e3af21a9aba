"""Every finding of the fuzzer, replayed for good: tests/fuzz/findings."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.building import MODES
from tests.fuzz.replay import FOLDER, replay
from tests.fuzz.session import Session


def test_findings_stay_fixed(tmp_path: Path) -> None:
    paths = sorted(FOLDER.glob("*.json"))
    others = [m for m in MODES if m not in ("host", "sanitized")]
    session = Session(tmp_path, ("host", "sanitized"), others)
    try:
        found = replay(session, paths)
    finally:
        session.close()
    assert not found, "\n".join(f"{name}: {text}" for name, text in found.items())
