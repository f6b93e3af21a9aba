"""The modules of this folder that tests in its subfolders import, for copies of the sources."""

from __future__ import annotations

import shutil
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def copy_support_modules(tree: Path) -> None:
    """Copy them into the folder ``tests`` of another tree, which exists."""
    for path in FOLDER.glob("*.py"):
        if not path.name.startswith(("test_", "conftest")):
            shutil.copy(path, tree / "tests" / path.name)
