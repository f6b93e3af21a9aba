"""Blocks and their offsets as CSV files, in the form of MiniMalloc's benchmarks.

The header names the columns, in any order: ``id``, ``lower``, ``upper`` (exclusive; or ``start``
and ``end``, inclusive), ``size``, and optionally ``alignment`` (1 when absent), ``gaps``, ``hint``
(read and dropped) and ``offset``. A gap is ``first-last`` or ``first-last@lo:hi``; spaces separate
gaps. An ``offset`` of a problem fixes the block; an empty field or -1 leaves it free.

Source of the form: the README and the CSV columns of github.com/google/minimalloc.

Example
-------
>>> blocks = parse("id,lower,upper,size\\na,0,2,8\\nb,1,3,8\\n")
>>> blocks[1].first, blocks[1].alignment
(1, 1)
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from tvm_megcc.errors import InputError
from tvm_megcc.memory.block import Gap, Interval

#: Other spellings of a column -> ours, and whether its values are the last instruction included.
SPELLINGS = {
    "buffer": ("id", 0), "buffer_id": ("id", 0), "begin": ("lower", 0), "start": ("lower", 0),
    "end": ("upper", 1),
}  # fmt: skip

COLUMNS = ("id", "lower", "upper", "size", "alignment", "gaps", "hint", "offset")


def read(path: str | Path) -> tuple[Interval, ...]:
    """The blocks in the file `path`.

    Raises
    ------
    InputError
        When the file cannot be read or is not of this form; the message names the line.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"'{path}' cannot be read: {reason}") from error
    return parse(text, str(path))


def parse(text: str, source: str = "problem") -> tuple[Interval, ...]:
    """The blocks in `text`; `source` is its name in messages."""
    rows = [(n, row) for n, row in enumerate(csv.reader(io.StringIO(text)), 1) if any(row)]
    if not rows:
        raise InputError(f"'{source}' is empty; its first line must name the columns")
    names, inclusive = _header(rows[0][1], source)
    intervals = []
    for line, row in rows[1:]:
        where = f"'{source}' line {line}"
        if len(row) != len(names):
            raise InputError(f"{where}: {len(row)} fields under {len(names)} columns")
        intervals.append(_interval(dict(zip(names, row, strict=True)), inclusive, where))
    return tuple(intervals)


def text_of(blocks: Sequence[Interval], offsets: Sequence[int | None]) -> str:
    """The blocks as CSV, each with its offset unless that is None."""
    columns = [
        ("id", [b.name for b in blocks]),
        ("lower", [b.first for b in blocks]),
        ("upper", [max(b.first, b.last) for b in blocks]),
        ("size", [b.size for b in blocks]),
    ]
    if any(b.alignment != 1 for b in blocks):
        columns.append(("alignment", [b.alignment for b in blocks]))
    if any(b.gaps for b in blocks):
        columns.append(("gaps", [" ".join(map(_gap_text, b.gaps)) for b in blocks]))
    if any(offset is not None for offset in offsets):
        columns.append(("offset", [-1 if offset is None else offset for offset in offsets]))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([name for name, _ in columns])
    writer.writerows(zip(*(values for _, values in columns), strict=True))
    return out.getvalue()


def _header(fields: Sequence[str], source: str) -> tuple[list[str], int]:
    names, inclusive = [], 0
    for field in fields:
        name, addend = SPELLINGS.get(field.strip(), (field.strip(), 0))
        inclusive |= addend
        if name not in COLUMNS:
            raise InputError(f"'{source}': column '{name}' is unknown; use {', '.join(COLUMNS)}")
        if name in names:
            raise InputError(f"'{source}': column '{name}' is there twice; keep one")
        names.append(name)
    for name in COLUMNS[:4]:
        if name not in names:
            raise InputError(f"'{source}': column '{name}' is missing from the first line")
    return names, inclusive


def _interval(row: dict[str, str], inclusive: int, where: str) -> Interval:
    first, last = _int(row["lower"], where, "lower"), _int(row["upper"], where, "upper") + inclusive
    if last < first:
        raise InputError(f"{where}: the block ends at {last}, before it begins at {first}")
    alignment = row.get("alignment", "").strip()
    offset = row.get("offset", "").strip()
    fixed = _int(offset, where, "offset") if offset else -1
    return Interval(
        row["id"].strip(), first, last, _int(row["size"], where, "size"),
        _int(alignment, where, "alignment") if alignment else 1,
        None if fixed == -1 else fixed,
        tuple(_gap(text, inclusive, where) for text in row.get("gaps", "").split()),
    )  # fmt: skip


def _gap(text: str, inclusive: int, where: str) -> Gap:
    times, _, window = text.partition("@")
    first, dash, last = times.partition("-")
    lo, colon, hi = window.partition(":")
    if not dash or (window and not colon):
        raise InputError(f"{where}: gap '{text}' is not of the form first-last or first-last@lo:hi")
    bytes_ = (_int(lo, where, "gaps"), _int(hi, where, "gaps")) if window else None
    return Gap(_int(first, where, "gaps"), _int(last, where, "gaps") + inclusive, bytes_)


def _int(text: str, where: str, column: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{where}: {column} '{text}' is not a whole number") from None


def _gap_text(gap: Gap) -> str:
    window = "" if gap.window is None else f"@{gap.window[0]}:{gap.window[1]}"
    return f"{gap.first}-{gap.last}{window}"
