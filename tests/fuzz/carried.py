"""Is an output wrong, or only far from the evaluators' because what it is computed from is right?

A chain of nodes may carry a last bit far: a power of -1 by the softmax of -88 is NaN, and 1 where
that is 0. So a graph of several nodes is compiled once more with every value as an output. Where
its outputs are the same to the bit, and each node is right about the operands that it got here,
nothing is wrong: no node is, and so the graph is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.fuzz import evaluate, unsaid
from tests.fuzz.evaluate import Array
from tests.fuzz.judge import Judge
from tests.fuzz.sketch import Graph


def opened(graph: Graph) -> Graph | None:
    """The graph with every value as an output; None where some value is no tensor."""
    made = [name for node in graph.nodes for name in node.output if name]
    if len(graph.nodes) < 2 or any(not isinstance(graph.values.get(n), Array) for n in made):
        return None
    return replace(graph, outputs=[*graph.outputs, *(n for n in made if n not in graph.outputs)])


def same(some: Mapping[str, Array], others: Mapping[str, Array]) -> bool:
    """Whether the outputs of the first are among those of the second, to the bit."""
    return all(
        name in others
        and array.shape == others[name].shape
        and array.tobytes() == others[name].tobytes()
        for name, array in some.items()
    )


def each_is_right(
    graph: Graph, feed: Mapping[str, Array], found: Mapping[str, Array], flushes: bool
) -> bool:
    """Whether each node is right about the operands that it got.

    Parameters
    ----------
    found : dict
        Every value as it was computed here.
    """
    here = {**graph.weights, **feed, **found}
    for node in graph.nodes:
        names = [n for n in node.output if n]
        read = {n: here[n] for n in evaluate.reads(node) if n}
        try:
            results = evaluate.either(node, graph.opsets, read)
        except evaluate.Refused:
            return False
        values = {**read, **dict(zip(names, results, strict=True))}
        if unsaid.undefined(node, values):
            return False
        inputs = {n: a for n, a in read.items() if n not in graph.weights}
        weights = {n: a for n, a in read.items() if n in graph.weights}
        alone = replace(
            graph, nodes=[node], inputs=inputs, weights=weights, outputs=names, open_dims={}
        )
        if Judge(alone, values, flushes).wrong({n: found[n] for n in names}):
            return False
    return True
