"""Findings of the past, run again.

All files share a build, as seeds do. A finding is over when the model gives the right answer, one
sentence, or a status.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.fuzz import evaluate, findings
from tests.fuzz.compiling import Places
from tests.fuzz.feeds import evaluated
from tests.fuzz.session import Case, Session

FOLDER = Path(__file__).resolve().parent / "findings"


def replay(session: Session, paths: Sequence[Path]) -> dict[str, str]:
    """What is found again, in words, by file name."""
    damaged = [path for path in paths if findings.kind_of(path) == "damaged"]
    again = {path.name: session.damage(findings.model_of(path)) for path in damaged}
    cases: dict[int, tuple[str, Case]] = {}
    for number, path in enumerate(p for p in paths if p not in damaged):
        content, graph, feeds = findings.read(path)
        try:
            graph.values = evaluate.run(graph.nodes, graph.opsets, {**graph.weights, **feeds[0]})
        except evaluate.Refused as refusal:
            if refusal.missing:
                continue  # no evaluator of this machine has its answer
            raise
        modes = dict.fromkeys(("sanitized", content["mode"]))
        kept = tuple(mode for mode in modes if mode in session.builders)
        goes_on = content.get("goes_on", [False] * len(feeds))
        its_runs = [
            replace(evaluated(graph, feed), goes_on=more)
            for feed, more in zip(feeds, goes_on, strict=True)
        ]
        places = Places(**content.get("places", {}))
        cases[number] = (path.name, Case(number, graph, its_runs, kept, places=places))
    found = session.judge([case for _, case in cases.values()])
    again |= {cases[f.case.seed][0]: f.line for f in found}
    return {name: text for name, text in again.items() if text}
