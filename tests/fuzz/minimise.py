"""A finding's graph, cut down to the fewest nodes that still show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import onnx

from tests.fuzz import evaluate
from tests.fuzz.evaluate import Array
from tests.fuzz.sketch import Graph

#: Graph -> whether it shows the finding; for several at once, as they share a build.
Shows = Callable[[Sequence[Graph]], Sequence[bool]]


def part(graph: Graph, nodes: Sequence[onnx.NodeProto], late: dict[str, Array]) -> Graph | None:
    """Some nodes of a graph; what they read from others becomes inputs of the model.

    Parameters
    ----------
    late : dict
        Values at the inputs of the finding, as far as they could be evaluated; the graph's own
        are those at its first inputs.
    """
    made = {name for node in nodes for name in node.output if name}
    inner = {name for node in nodes for name in evaluate.reads(node)}
    outputs = [n for node in nodes for n in node.output if n and n not in inner]
    outputs += [n for n in graph.outputs if n in made and n not in outputs]
    names = [n for n in dict.fromkeys(inner) if n and n not in made]
    inputs = [n for n in names if n not in graph.weights]
    if not outputs or any(n not in late for n in inputs):
        return None
    return replace(
        graph,
        nodes=list(nodes),
        inputs={n: graph.values[n] for n in inputs},
        weights={n: graph.weights[n] for n in names if n in graph.weights},
        outputs=outputs,
        open_dims={n: row for n in inputs if (row := _open(graph, n, late[n]))},
        values={n: graph.values[n] for n in (*names, *made)},
    )


def _open(graph: Graph, name: str, late: Array) -> list[str | None]:
    """Names of an input's dims: its own, or one for each that is not always the same."""
    if name in graph.inputs:
        return graph.open_dims.get(name, [])
    early = graph.values[name].shape
    if early == late.shape or len(early) != late.ndim:
        return []
    pairs = enumerate(zip(early, late.shape, strict=True))
    return [None if a == b else f"{name}_{axis}" for axis, (a, b) in pairs]


def minimise(graph: Graph, late: dict[str, Array], shows: Shows) -> Graph:
    """The smallest part that shows the finding.

    Parameters
    ----------
    late : dict
        See `part`.
    """
    nodes = graph.nodes
    singles = [g for n in nodes if (g := part(graph, [n], late)) is not None]
    for candidate, shown in zip(singles, shows(singles), strict=True):
        if shown:
            return candidate
    best = graph
    while len(best.nodes) > 1:
        parts = [
            g
            for kept in _smaller(best.nodes)
            if (g := part(best, kept, late)) is not None
        ]  # fmt: skip
        shown = shows(parts)
        found = [g for g, s in zip(parts, shown, strict=True) if s]
        if not found:
            break
        best = min(found, key=lambda g: len(g.nodes))
    return best


def _smaller(nodes: Sequence[onnx.NodeProto]) -> list[list[onnx.NodeProto]]:
    """Halves and pairs first, then all but one."""
    n = len(nodes)
    rows = [list(nodes[: n // 2]), list(nodes[n // 2 :])] if n > 3 else []
    if n > 2:
        for k, node in enumerate(nodes):
            readers = [m for m in nodes[k + 1 :] if set(node.output) & set(evaluate.reads(m))]
            rows += [[node, m] for m in readers]
    return rows + [[m for m in nodes if m is not node] for node in nodes]
