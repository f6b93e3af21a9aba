"""The graph of a program in a report: a row for each call, and beside them the lanes of values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape

from tvm_megcc.report.lanes import Lanes, lanes
from tvm_megcc.report.subject import Subject

#: Pixels: of a row, between lanes, before the first one; of a dot.
ROW, LANE, LEFT, DOT = 26, 15, 12, 5

#: Lanes that are drawn beside each other: further ones lie upon the last.
WIDEST = 14

#: For the operators of which there are most; the others share the last one.
COLOURS = (
    "#2f6fde", "#e8590c", "#2b8a3e", "#9c36b5", "#c99a06", "#0c8599", "#c2255c", "#6741d9",
    "#868e96",
)  # fmt: skip


def graph(subject: Subject) -> Iterator[str]:
    """The section's elements."""
    colours = _colours(subject)
    found = lanes([call["after"] for call in subject.calls], len(subject.facts["inputs"]))
    yield '<div class="tools">'
    yield '<input id="filter" type="search" placeholder="filter: operator, name, kernel, type">'
    yield f'<span class="legend">{"".join(_legend(colours))}</span></div>'
    yield '<div class="graph">'
    yield from _drawing(found, subject, colours)
    yield '<div class="rows">'
    yield (
        '<div class="call head"><span class="number">call</span><span>operators</span>'
        "<span>value</span><span>kernel</span><span>type</span><span>time</span></div>"
    )
    for number, port in enumerate(subject.facts["inputs"]):
        kind = f"{port['dtype']} {'×'.join(map(str, port['shape'])) or 'scalar'}"
        yield _row(str(-1 - number), "input", "", "input", port["name"], "", kind, "")
    times = {number: row.ms for number, row in subject.rows.items()}
    slowest = max(times.values(), default=0) or 1
    for number, call in enumerate(subject.calls):
        time = ""
        if number in times:
            share = 100 * times[number] / slowest
            time = f'<i style="width:{share:.1f}%"></i><span>{times[number]:.4f} ms</span>'
        kinds = ", ".join(subject.type_of(t) for t in call["writes"])
        yield _row(
            str(number), _kind(subject, number), str(number), subject.operators(call), call["name"],
            subject.template(call), kinds, time,
        )  # fmt: skip
    yield "</div></div>"


def _kind(subject: Subject, number: int) -> str:
    """Classes of a call's row: calls that run in bands of rows are framed together."""
    group = subject.group_of(number)
    if group is None:
        return ""
    first = " first" * (number == group["first_call"])
    return f"streamed{first}{' last' * (number == group['last_call'])}"


def _row(
    key: str, kind: str, number: str, what: str, name: str, kernel: str, types: str, time: str
) -> str:
    texts = (what, name, kernel, types)
    cells = "".join(f'<span title="{escape(t)}">{escape(t)}</span>' for t in texts)
    return (
        f'<div class="{f"call {kind}".strip()}" data-call="{key}"><span class="number">{number}'
        f'</span>{cells}<span class="time">{time}</span></div>'
    )


def _colours(subject: Subject) -> Mapping[str, str]:
    """Kernel operator -> colour, the most frequent ones first."""
    counts = Counter(subject.operator(call) for call in subject.calls)
    names = [name for name, _ in sorted(counts.items(), key=lambda row: (-row[1], row[0]))]
    return {name: COLOURS[min(k, len(COLOURS) - 1)] for k, name in enumerate(names)}


def _legend(colours: Mapping[str, str]) -> Iterator[str]:
    own = [name for name, colour in colours.items() if colour != COLOURS[-1]]
    for name in own:
        yield f'<span><i style="background:{colours[name]}"></i>{escape(name)}</span>'
    if len(own) < len(colours):
        yield f'<span><i style="background:{COLOURS[-1]}"></i>others</span>'


def _drawing(found: Lanes, subject: Subject, colours: Mapping[str, str]) -> Iterator[str]:
    inputs = len(subject.facts["inputs"])
    width = LEFT + LANE * min(found.width, WIDEST) + 6
    height = ROW * (1 + inputs + len(subject.calls))

    def x(call: int) -> float:
        return LEFT + LANE * min(found.of[call], WIDEST - 1)

    def y(call: int) -> float:
        return ROW * (1.5 + (call + inputs if call >= 0 else -1 - call))

    yield f'<svg width="{width}" height="{height}" role="img" aria-label="edges of the graph">'
    for a, b in found.edges:
        # Down in the lane of the value that stays free, and over to the other in the last row.
        bend = y(b) - ROW if found.of[b] != found.of[a] else y(b)
        down = f"V{max(bend, y(a)):g}"
        start = max(bend, y(a))
        over = "" if x(a) == x(b) else (
            f"C{x(a):g} {start + ROW / 2:g} {x(b):g} {y(b) - ROW / 2:g} {x(b):g} {y(b):g}"
        )  # fmt: skip
        yield (f'<path data-from="{a}" data-to="{b}" d="M{x(a):g} {y(a):g}{down}{over}"/>')
    for call in (*(-1 - k for k in range(inputs)), *range(len(subject.calls))):
        colour = "#868e96" if call < 0 else colours[subject.operator(subject.calls[call])]
        yield f'<circle cx="{x(call):g}" cy="{y(call):g}" r="{DOT}" fill="{colour}"/>'
    yield "</svg>"
