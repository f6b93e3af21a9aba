"""A report as one HTML page that needs nothing else: no network, no other file.

Enters: a `Subject`. Leaves: the page's text. ``report.html`` is its frame, ``report.css`` and
``report.js`` stand in it; without the script it can be read as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from statistics import fmean, median
from typing import Any

from tvm_megcc.report import labels
from tvm_megcc.report.bars import Bar, bars, profile_bars
from tvm_megcc.report.graph_section import graph
from tvm_megcc.report.profile import operands
from tvm_megcc.report.subject import Subject

#: Id and title of the sections, in their order.
SECTIONS = {
    "better": "What could be better",
    "profile": "Profile",
    "graph": "Graph after fusing",
    "memory": "Memory plan",
    "sizes": "Sizes",
    "ports": "Inputs and outputs",
}

#: Weights and kernels that are listed; the others are summed up.
LISTED = 60

#: Nodes that are listed of a call.
NODES = 12


def page(subject: Subject) -> str:
    """The whole page."""
    makers = {
        "better": _better, "profile": _profile, "graph": _graph, "memory": _memory,
        "sizes": _sizes, "ports": _ports,
    }  # fmt: skip
    body = [f'<div class="cards">{"".join(_cards(subject))}</div>']
    for name, title in SECTIONS.items():
        inside = "\n".join(makers[name](subject))
        body.append(f'<section id="{name}">\n<h2>{title}</h2>\n{inside}\n</section>')
    return _filled(
        _text("report.html"),
        {
            "TITLE": escape(f"{subject.facts['name']} for {subject.arch}"),
            "SUBTITLE": escape(_subtitle(subject)),
            "NAV": "".join(f'<a href="#{name}">{title}</a>' for name, title in SECTIONS.items()),
            "STYLE": _text("report.css"),
            "SCRIPT": _text("report.js"),
            # No text of the model may end the element that holds it.
            "CALLS": json.dumps(_calls(subject)).replace("<", "\\u003c"),
            "BODY": "\n".join(body),
        },
    )


def _text(name: str) -> str:
    return files("tvm_megcc.report").joinpath(name).read_text(encoding="utf-8")


def _filled(frame: str, parts: Mapping[str, str]) -> str:
    """The frame with its marks replaced; inserted text may itself contain such marks."""
    pieces = frame.split("@")
    return "".join(parts.get(piece, piece) for piece in pieces)


def _subtitle(subject: Subject) -> str:
    said = ["a package of tvm_megcc"]
    if subject.program:
        said.append(subject.program)
    if subject.sizes:
        said.append(", ".join(f"{name} = {size}" for name, size in subject.sizes.items()))
    if subject.profile is not None:
        found = subject.profile
        threads = f"{found.threads} thread{'s' * (found.threads > 1)}"
        said.append(f"times: mean of {len(found.runs_ms)} runs, {threads}")
    return " · ".join(said)


def _cards(subject: Subject) -> Iterator[str]:
    entry, whole = subject.entry, subject.facts["archs"][subject.arch]

    def card(value: str, name: str) -> str:
        return f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>"

    if subject.profile is not None:
        runs = subject.profile.runs_ms
        note = "median of a run" + (", under qemu" if subject.profile.emulated else "")
        yield card(f"{median(runs):.3f} ms", note)
    arena = entry["arena_bytes"]
    yield card("by shape" if arena is None else size(arena), "arena")
    yield card(size(whole["weight_bytes"]), "weights")
    if subject.code:
        yield card(size(sum(subject.code.values())), "code, of which runtime "
                   + size(subject.code.get("", 0)))  # fmt: skip
    yield card(size(whole["program_bytes"]), "program")
    yield card(str(len(subject.calls)), "calls")
    yield card(str(len({call["kernel"] for call in subject.calls})), "kernels")
    adds = whole.get("work", {}).get("multiply_adds", {})
    if adds:
        total = sum(adds.values())
        types = ", ".join(f"{100 * n / total:.3g} % {dtype}" for dtype, n in adds.items())
        yield card(_short(total), f"multiply-adds: {types}")


def size(count: int) -> str:
    """Bytes for people."""
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count / factor:.2f} {unit}"
    return f"{count} B"


def _short(count: int) -> str:
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return str(count)


def _better(subject: Subject) -> Iterator[str]:
    if not subject.advice:
        yield "<p>Nothing stands out.</p>"
        return
    items = "".join(f"<li>{escape(line)}</li>" for line in subject.advice)
    yield f'<ul class="better">{items}</ul>'


def _profile(subject: Subject) -> Iterator[str]:
    found = subject.profile
    if found is None:
        yield (
            '<p class="muted">There are no times: add <code>--measure N</code> to run it here, or'
            " <code>--profile TRACE.json</code> with what <code>./run --trace TRACE.json</code> has"
            " written on a device.</p>"
        )
        return
    runs = found.runs_ms
    yield (
        f"<p>A run takes {min(runs):.4f} ms at least, {fmean(runs):.4f} ms in the mean;"
        f" {found.outside_ms:.4f} ms of that outside of the calls.</p>"
    )
    if found.emulated:
        yield "<p>The times are those of qemu and say nothing about the device.</p>"
    if found.not_counted:
        why = escape(found.not_counted)
        yield f'<p class="muted">Instructions are not counted: {why}.</p>'
    yield from profile_bars(found)


def _graph(subject: Subject) -> Iterator[str]:
    for group in subject.groups:
        yield f'<p class="streamed-group">{escape(labels.group_text(group))}</p>'
    yield from graph(subject)


def _memory(subject: Subject) -> Iterator[str]:
    if not subject.plan:
        yield f'<p class="muted">{escape(subject.plan_unknown)}</p>'
        return
    yield (
        '<div class="tools"><button type="button" id="zoom-in">zoom in</button>'
        '<button type="button" id="zoom-out">zoom out</button>'
        '<button type="button" id="zoom-all">all</button>'
        '<span class="muted">wheel: zoom; drag: move; point at a rectangle for its name, size and'
        " life</span></div>"
    )
    yield f'<div class="memory">{subject.plan}</div>'


def _sizes(subject: Subject) -> Iterator[str]:
    weights = [Bar(name, f"{size(n)} · {kind}", n) for name, kind, n in subject.weights()]
    calls: dict[str, int] = {}
    for call in subject.calls:
        calls[call["kernel"]] = calls.get(call["kernel"], 0) + 1

    def used(kernel: str) -> str:
        count = calls.get(kernel, 0)
        return f"{count} call{'s' * (count != 1)}"

    if subject.code:
        rows = sorted(subject.code.items(), key=lambda row: -row[1])
        code = [
            Bar(kernel or "the runtime", size(n) + (f" · {used(kernel)}" if kernel else ""), n)
            for kernel, n in rows
        ]
    else:
        ordered = sorted(calls, key=lambda kernel: -calls[kernel])
        code = [Bar(kernel, used(kernel), calls[kernel]) for kernel in ordered]
    yield '<div class="pair"><div><h3>Code by kernel</h3>'
    if subject.code_unknown:
        yield f'<p class="muted">{escape(subject.code_unknown)}</p>'
    yield from bars(_cut(code), "kernels short")
    yield "</div><div><h3>Weights, as kernels have them packed, by the call that reads them</h3>"
    yield from bars(_cut(weights), "weights short")
    yield "</div></div>"


def _cut(rows: list[Bar]) -> list[Bar]:
    if len(rows) <= LISTED:
        return rows
    rest = sum(round(row.value) for row in rows[LISTED:])
    return [*rows[:LISTED], Bar(f"{len(rows) - LISTED} more", size(rest), rest)]


def _ports(subject: Subject) -> Iterator[str]:
    yield "<table><tr><th>name</th><th></th><th>type</th><th>shape</th><th>bytes</th></tr>"
    for side in ("inputs", "outputs"):
        for port in subject.facts[side]:
            shape = "×".join(map(str, port["shape"])) or "scalar"
            count = "by shape" if port["bytes"] is None else f"{port['bytes']:,}"
            cells = (port["name"], side[:-1], port["dtype"], shape, count)
            yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    yield "</table>"


def _calls(subject: Subject) -> dict[str, dict[str, Any]]:
    """Details of each call for the page: titles, and one or several texts."""
    found: dict[str, dict[str, Any]] = {}
    for number, call in enumerate(subject.calls):
        row = subject.rows.get(number)
        sizes = [subject.bytes_of(t) for t in operands(call)]
        known = [n for n in sizes if n is not None]

        def tensors(numbers: list[int]) -> list[str]:
            found = [(subject.tensors[t], subject.type_of(t)) for t in numbers]
            return [f"{tensor['name']}: {kind} ({tensor['place']})" for tensor, kind in found]

        about: list[tuple[str, object]] = [
            ("nodes of the model", _listed(subject.nodes(call))),
            ("kernel", call["kernel"]),
            ("reads", tensors(call["reads"])),
            ("writes", tensors(call["writes"])),
        ]
        group = subject.group_of(number)
        if group is not None:
            count = group["bands"][number - group["first_call"]]
            about.append(("in bands of rows", f"{labels.group_text(group)}; it runs {count} times"))
        if call["workspace"]:
            about.append(("workspace", _bytes_text(call["workspace"])))
        if isinstance(call["multiply_adds"], int) and call["multiply_adds"]:
            about.append(("multiply-adds", f"{call['multiply_adds']:,}"))
        if len(known) == len(sizes):
            about.append(("bytes read and written", f"{sum(known):,}"))
        if row is not None and subject.profile is not None:
            share = 100 * subject.profile.share(row)
            rate = "" if row.gflops is None else f", {row.gflops:.2f} GFLOP/s"
            about.append(("time", f"{row.ms:.4f} ms, {share:.1f} %{rate}"))
            if row.instructions is not None:
                about.append(("instructions", f"{row.instructions:,.0f}"))
        found[str(number)] = {"name": call["name"], "step": call["step"], "about": about}
    return found


def _listed(nodes: Sequence[str]) -> list[str]:
    """The first of many nodes."""
    rest = len(nodes) - NODES
    return [*nodes[:NODES], f"and {rest} more"] if rest > 1 else list(nodes)


def _bytes_text(count: object) -> str:
    return f"{count:,} bytes" if isinstance(count, int) else "by shape"
