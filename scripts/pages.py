"""Pages of the docs into which scripts write: what stands between two marks is a script's."""

from __future__ import annotations

from pathlib import Path


def write(page: Path, text: str, begin: str, end: str) -> None:
    """Put `text` on lines of its own between two marks that the page has."""
    before, rest = page.read_text().split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")
