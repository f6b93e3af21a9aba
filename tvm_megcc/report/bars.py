"""Rows of bars in a report: a name, a bar, its value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from tvm_megcc.report.profile import Profile, Row

#: Groupings in the order of their tabs -> what they are called there.
TABS = {
    "operator": "by operator", "node": "by node", "kernel": "by kernel", "call": "by call",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar; ``call`` is the number of the call that it describes, or None."""

    name: str
    text: str
    value: float
    call: int | None = None


def bars(rows: Sequence[Bar], kind: str) -> Iterator[str]:
    """The rows; the largest value takes the whole width."""
    largest = max((row.value for row in rows), default=0) or 1
    yield f'<div class="bars scroll {kind}">'
    for row in rows:
        call = "" if row.call is None else f' data-call="{row.call}"'
        name = escape(row.name)
        yield (
            f'<div class="bar"{call}><span title="{name}">{name}</span>'
            f'<i><i style="width:{100 * row.value / largest:.2f}%"></i></i>'
            f'<em title="{escape(row.text)}">{escape(row.text)}</em></div>'
        )
    yield "</div>"


def profile_bars(profile: Profile) -> Iterator[str]:
    """A list of bars for each grouping, behind tabs."""
    yield '<div class="tabs">'
    for number, (name, title) in enumerate(TABS.items()):
        checked = " checked" * (number == 0)
        yield f'<input type="radio" name="by" id="by-{name}"{checked}>'
        yield f'<label for="by-{name}">{title}</label>'
    for name in TABS:
        rows = [Bar(_name(row), _text(profile, row), row.ms, row.call) for row in profile.by(name)]
        yield from bars(rows, "call-bars" if name == "call" else name)
    yield "</div>"


def _name(row: Row) -> str:
    return row.name if row.call is None else f"{row.call}  {row.name}  ({row.template})"


def _text(profile: Profile, row: Row) -> str:
    parts = [f"{row.ms:.4f} ms", f"{100 * profile.share(row):.1f} %"]
    if row.gflops is not None:
        parts.append(f"{row.gflops:.1f} GFLOP/s")
    if row.instructions is not None:
        parts.append(f"{row.instructions:,.0f} instr.")
    if row.call is not None and row.times != 1:
        parts.append(f"{row.times:g} times")
    if row.calls > 1:
        parts.append(f"{row.calls} calls")
    return " · ".join(parts)
