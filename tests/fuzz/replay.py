"""Findings of the past, run again.

All files share a build, as seeds do. A finding is over when the model gives the right answer, one
sentence, or a status.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.fuzz import evaluate, findings
from tests.fuzz.feeds import evaluated
from tests.fuzz.session import Case, Finding, Session

FOLDER = Path(__file__).resolve().parent / "findings"


def replay(session: Session, paths: Sequence[Path]) -> dict[str, Finding]:
    """What is found again, by file name."""
    cases = {}
    for number, path in enumerate(paths):
        content, graph, feeds = findings.read(path)
        graph.values = evaluate.run(graph.nodes, graph.opsets, {**graph.weights, **feeds[0]})
        modes = dict.fromkeys((*session.always, *([content["mode"]] if content["mode"] else [])))
        its_runs = [evaluated(graph, feed) for feed in feeds]
        kept = tuple(m for m in modes if m in session.builders)
        cases[path.name] = Case(number, graph, its_runs, kept)
    found = session.judge(list(cases.values()))
    return {name: f for name, case in cases.items() for f in found if f.case.seed == case.seed}
