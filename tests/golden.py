"""Expected text in files under ``tests/golden``; ``pytest --update-golden`` writes them anew."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

FOLDER = Path(__file__).with_name("golden_files")

#: Name of a folder, and the files that it has to hold.
Check = Callable[[str, Mapping[str, str]], None]


def check(name: str, files: Mapping[str, str], update: bool) -> None:
    """See that a folder of golden files holds these texts and nothing else."""
    folder = FOLDER / name
    if update:
        for path in folder.rglob("*"):
            if path.is_file() and str(path.relative_to(folder)) not in files:
                path.unlink()
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    kept = {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}
    said = [f"{path}: not expected" for path in sorted(kept.keys() - files.keys())]
    for path, text in files.items():
        said += difflib.unified_diff(
            kept.get(path, "").splitlines(), text.splitlines(), f"golden {path}", path, lineterm=""
        )
    if said:
        lines = "\n".join(said[:60])
        pytest.fail(f"not what {name} expects; --update-golden if it should be\n{lines}", False)
