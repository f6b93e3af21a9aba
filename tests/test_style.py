"""What `scripts/check` asks of the sources and a machine can say without an opinion.

clang-format's opinion changes with its version; Debian 12's counts, others skip.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CLANG_FORMAT = "14."


def tracked(*patterns: str) -> list[str]:
    """The files of the checkout; skips where this is none."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git checkout")
    done = subprocess.run(
        ["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).exists()]


@pytest.mark.slow
def test_c_is_formatted() -> None:
    tool = shutil.which("clang-format")
    if tool is None:
        pytest.skip("no clang-format")
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    if f"version {CLANG_FORMAT}" not in version:
        pytest.skip(f"not clang-format {CLANG_FORMAT}x")
    files = tracked("*.c", "*.h")
    assert len(files) > 50
    done = subprocess.run(
        [tool, "--dry-run", "-Werror", *files], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, f"run clang-format -i:\n{done.stderr[:2000]}"


def test_python_passes_ruff() -> None:
    if importlib.util.find_spec("ruff") is None:
        pytest.skip("no ruff; it is in the extra 'lint'")
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--quiet", *tracked("*.py")],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[:2000]


@pytest.mark.slow
def test_python_passes_mypy() -> None:
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("no mypy; it is in the extra 'lint'")
    done = subprocess.run(
        [ROOT / "scripts" / "mypy"],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"run scripts/mypy:\n{done.stdout[:2000]}{done.stderr[:500]}"


def test_no_error_of_mypy_is_hidden_without_its_name() -> None:
    for name in tracked("tvm_megcc/*.py", "codegen_c/*.py", "runtime/*.py"):
        for line, text in enumerate((ROOT / name).read_text().splitlines(), 1):
            hidden = "type: ignore" in text and "type: ignore[" not in text
            assert not hidden, f"{name}:{line}: say which error of mypy is meant"
