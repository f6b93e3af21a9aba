"""The trace of a package's runner: every call of every timed run, as ``run --trace`` writes it.

It has the form of Chrome's tracing: ``traceEvents``, of the categories ``run``, ``call`` and
``part`` (what one thread did of a call), and ``otherData``, which says what was run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tvm_megcc.errors import InputError


def read_trace(path: Path) -> dict[str, Any]:
    """The trace in a file; InputError if the file is none of ours."""
    try:
        found = json.loads(path.read_bytes())
    except ValueError:
        found = None
    facts = found.get("otherData") if isinstance(found, dict) else None
    if found is None or not isinstance(facts, dict) or facts.get("tool") != "tvm_megcc":
        raise InputError(f"'{path}' is no trace of tvm_megcc; make one with run --trace FILE.json")
    return dict(found)
