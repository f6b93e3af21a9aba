"""A plan as a picture: address over time, one rectangle per tensor, as standalone SVG text.

Colours say how long a tensor lives; the peak step is marked, and the arena's end is a line. Line
buffers are hatched, and a loop over bands of rows is one marked range of steps. Each
rectangle carries a tooltip with its name, size, place and life. Nothing is needed to view it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from tvm_megcc.memory.problem import Problem, Solution, live_bytes, peak

WIDTH, HEIGHT = 1200, 640
LEFT, RIGHT, TOP, BOTTOM = 90, 24, 56, 52
#: Pixels of a character of the label's font, and of a line of it.
CHARACTER, LINE = 5.6, 11
#: Of this picture only: it may stand in a page with others.
STYLE = (
    ".plan text{font-family:sans-serif;font-size:11px;fill:#222}"
    ".plan text.label{font-size:9.5px;pointer-events:none}"
    ".plan text.title{font-size:14px;font-weight:bold}"
    ".plan .grid{stroke:#ddd;stroke-width:1}"
    ".plan .arena{stroke:#222;stroke-width:1;stroke-dasharray:6 3}"
    ".plan .peak{fill:#d33;fill-opacity:0.13;stroke:#d33;stroke-width:0.7;pointer-events:none}"
    ".plan text.peaktext{fill:#b11}"
    ".plan rect.t{stroke:#333;stroke-width:0.6}"
    ".plan rect.t:hover{stroke-width:2}"
    ".plan rect.rows{pointer-events:none}"
    ".plan .loop{fill:#2f6fde;fill-opacity:0.08}"
    ".plan .loopend{stroke:#2f6fde;stroke-width:2;fill:none}"
    ".plan text.looptext{fill:#2450a8}"
)
#: The hatch of line buffers.
HATCH = (
    '<defs><pattern id="plan-rows" width="7" height="7" patternUnits="userSpaceOnUse"'
    ' patternTransform="rotate(45)"><path d="M0 0V7" stroke="#222" stroke-opacity="0.28"'
    ' stroke-width="2"/></pattern></defs>'
)


@dataclass(frozen=True, slots=True)
class Band:
    """A loop over bands of rows: its steps ``[first, last)``, and texts for it, longest first."""

    first: int
    last: int
    texts: tuple[str, ...]


def svg(
    problem: Problem,
    solution: Solution,
    names: Sequence[str] | None = None,
    title: str = "Memory plan",
    peak_name: str = "",
    rows: Mapping[int, str] | None = None,
    bands: Sequence[Band] = (),
) -> str:
    """The plan as an SVG document.

    Parameters
    ----------
    names : sequence of str, optional
        Labels instead of the intervals' names, in their order.
    peak_name : str
        What the peak step does, to be said beside it.
    rows : mapping, optional
        Position of an interval that is a line buffer -> a text such as ``3 rows of 48``. It is
        hatched.
    bands : sequence of Band
        Loops, each drawn as one range of steps.
    """
    labels = list(names) if names is not None else [b.name for b in problem.intervals]
    frame = _Frame(problem, solution)
    verdict = "optimal" if solution.optimal else f"lower bound {solution.lower_bound:,}"
    head = f"{title}: arena {solution.arena_bytes:,} bytes, {verdict} ({solution.planner})"
    parts = [
        f'<svg class="plan" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        f' width="{WIDTH}" height="{HEIGHT}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text class="title" x="{LEFT}" y="22">{escape(head)}</text>',
        *([HATCH] if rows else []),
        *frame.axes(),
        *(part for band in bands for part in frame.loop(band)),
    ]
    texts = frame.peak_band(problem, peak_name)  # over the tensors, under their names
    for number, (block, offset) in enumerate(zip(problem.intervals, solution.offsets, strict=True)):
        label, kept = labels[number], (rows or {}).get(number, "")
        for piece in block.pieces() if block.is_live else ():
            box = frame.box(piece.first, piece.last, offset + piece.lo, offset + piece.hi)
            life = f"steps {block.first} to {block.last - 1}"
            tip = f"{label}\n{block.size:,} bytes at {offset:,}\n{life}"
            tip += f"\n{kept}" * bool(kept)
            colour = _colour(block.last - block.first, frame.steps)
            parts.append(_rectangle(box, (block.first, block.last), colour, tip))
            if kept:
                parts.append(_hatched(box))
            texts += _label(box, label, kept or f"{block.size:,}")
    top = frame.y(solution.arena_bytes)
    arena = f'<path class="arena" d="M{LEFT} {top:.1f}H{WIDTH - RIGHT}"/>'
    return "\n".join([*parts, *texts, arena, "</svg>"]) + "\n"


class _Frame:
    """Conversion of steps and bytes to pixels."""

    def __init__(self, problem: Problem, solution: Solution) -> None:
        live = [b for b in problem.intervals if b.is_live]
        self.begin = min((b.first for b in live), default=0)
        self.end = max((b.last for b in live), default=1)
        self.steps = self.end - self.begin
        self.bytes = max(solution.arena_bytes, 1)

    def x(self, step: float) -> float:
        return LEFT + (step - self.begin) / self.steps * (WIDTH - LEFT - RIGHT)

    def y(self, address: float) -> float:
        return HEIGHT - BOTTOM - address / self.bytes * (HEIGHT - TOP - BOTTOM)

    def box(self, first: int, last: int, lo: int, hi: int) -> tuple[float, float, float, float]:
        """x, y, width, height."""
        return self.x(first), self.y(hi), self.x(last) - self.x(first), self.y(lo) - self.y(hi)

    def axes(self) -> list[str]:
        unit, factor = _unit(self.bytes)
        middle = (TOP + HEIGHT - BOTTOM) / 2
        parts = [
            f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 12}" text-anchor="middle">'
            "step (call of the program)</text>",
            f'<text transform="translate(34 {middle:.0f}) rotate(-90)" text-anchor="middle">address'
            f" ({unit})</text>",
        ]
        for value in _ticks(self.bytes / factor):
            y = self.y(value * factor)
            parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
        base = HEIGHT - BOTTOM
        for value in _ticks(self.steps):
            if value != int(value):
                continue
            x = self.x(self.begin + value)
            parts.append(f'<path class="grid" d="M{x:.1f} {base}v5"/>')
            step = self.begin + int(value)
            parts.append(f'<text x="{x:.1f}" y="{base + 17}" text-anchor="middle">{step}</text>')
        return parts

    def loop(self, band: Band) -> list[str]:
        """The steps of a loop: a pale range with a line and the longest text that fits above it."""
        x, end = self.x(band.first), self.x(band.last)
        room = int((end - x) / CHARACTER)
        text = next((text for text in band.texts if len(text) <= room), "")
        return [
            f'<rect class="loop" x="{x:.1f}" y="{TOP}" width="{end - x:.1f}"'
            f' height="{HEIGHT - TOP - BOTTOM}"><title>{escape(band.texts[0])}</title></rect>',
            f'<path class="loopend" d="M{x:.1f} {TOP + 6}V{TOP - 2}H{end:.1f}v8"/>',
            f'<text class="looptext" x="{x + 2:.1f}" y="{TOP - 5}">{escape(text)}</text>',
        ]

    def peak_band(self, problem: Problem, name: str) -> list[str]:
        """The step at which most bytes are live."""
        step, need = peak(problem)
        if not need:
            return []
        starts = [s for s, _ in live_bytes(problem) if s > step]
        last = min([*starts, self.end, step + max(1, self.steps // 150)])
        x, width = self.x(step), max(self.x(last) - self.x(step), 2.0)
        anchor = "end" if x > WIDTH * 0.7 else "start"
        said = f"peak at step {step}{', ' * bool(name)}{name}: {need:,} bytes"
        return [
            f'<rect class="peak" x="{x:.1f}" y="{TOP - 14}" width="{width:.1f}"'
            f' height="{HEIGHT - TOP - BOTTOM + 14}"/>',
            f'<text class="peaktext" x="{x:.1f}" y="{TOP - 18}" text-anchor="{anchor}">'
            f"{escape(said)}</text>",
        ]


def _rectangle(
    box: tuple[float, float, float, float], life: tuple[int, int], colour: str, tip: str
) -> str:
    x, y, width, height = box
    return (
        f'<rect class="t" data-first="{life[0]}" data-last="{life[1]}" x="{x:.2f}" y="{y:.2f}"'
        f' width="{width:.2f}" height="{height:.2f}" fill="{colour}"><title>{escape(tip)}</title>'
        "</rect>"
    )


def _hatched(box: tuple[float, float, float, float]) -> str:
    x, y, width, height = box
    return f'<rect class="rows" x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}"/>'


def _label(box: tuple[float, float, float, float], name: str, size: str) -> list[str]:
    """The name where it has room, across or upright, with the size below it when there is more."""
    x, y, width, height = box
    lines = [name, size] if height >= 2 * LINE + 2 else [name]
    more_upright = width >= LINE and min(height, len(name) * CHARACTER) > width
    if height >= LINE and width >= CHARACTER * 4 and not more_upright:
        room = int(width / CHARACTER)  # half a number would be a wrong one
        across = [_shorten(lines[0], room), *(line for line in lines[1:] if len(line) <= room)]
        top = y + height / 2 - LINE * (len(across) - 1) / 2 + 3.5
        return [
            f'<text class="label" x="{x + width / 2:.1f}" y="{top + LINE * k:.1f}"'
            f' text-anchor="middle">{escape(line)}</text>'
            for k, line in enumerate(across)
            if line
        ]
    text = _shorten(name, int(height / CHARACTER)) if width >= LINE else ""
    if not text:
        return []
    return [
        f'<text class="label" transform="translate({x + width / 2 + 3.5:.1f} {y + height / 2:.1f})'
        f' rotate(-90)" text-anchor="middle">{escape(text)}</text>'
    ]


def _shorten(text: str, room: int) -> str:
    """`text` in `room` characters, its end kept (the end tells tensors apart); empty below four."""
    if len(text) <= room:
        return text
    return "…" + text[len(text) - room + 1 :] if room >= 4 else ""


def _colour(life: int, steps: int) -> str:
    """Pale blue for a moment, through green, to orange for the whole run."""
    share = min(1.0, (max(life, 1) / max(steps, 1)) ** 0.4)
    return f"hsl({210 - 180 * share:.0f},62%,{80 - 12 * share:.0f}%)"


def _unit(size: int) -> tuple[str, int]:
    for name, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= 2 * factor:
            return name, factor
    return "bytes", 1


def _ticks(end: float) -> list[float]:
    """Five to ten round values from 0 to `end`."""
    size = 10.0 ** len(str(int(end)))
    for divisor in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        if end / (size / divisor) >= 5:
            size /= divisor
            break
    return [k * size for k in range(int(end / size) + 1)]
