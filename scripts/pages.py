"""Pages of the docs into which scripts write, whole or between two marks; tables in Markdown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path


def write(page: Path, text: str, begin: str, end: str) -> None:
    """Put `text` on lines of its own between two marks that the page has."""
    before, rest = page.read_text().split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def table(
    head: Sequence[str], rows: Iterable[Iterable[object]], words: Collection[str] = ("model",)
) -> str:
    """A table in Markdown; columns are of numbers but for those named in `words`."""
    ruler = "|".join("---" if name in words else "--:" for name in head)
    lines = [f"| {' | '.join(map(str, row))} |" for row in (head, *rows)]
    return "\n".join([lines[0], f"|{ruler}|", *lines[1:]])


def write_or_check(page: Path, text: Callable[[], str], description: str) -> int:
    """The program of a script that writes a whole page; the exit status.

    With ``--check`` nothing is written, and the status is 1 where the page is out of date.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether the page is current")
    if not parser.parse_args().check:
        page.write_text(text())
        return 0
    if page.exists() and page.read_text() == text():
        return 0
    name, script = f"{page.parent.name}/{page.name}", Path(sys.argv[0]).name
    print(f"{name} is out of date: run scripts/{script}", file=sys.stderr)
    return 1
