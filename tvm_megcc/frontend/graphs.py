"""Iterate over a model's graphs, those in its nodes included, and the names that they read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx


def bodies(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs in a node's attributes."""
    for attr in node.attribute:
        yield from [attr.g] if attr.HasField("g") else attr.graphs


def body_of(node: onnx.NodeProto) -> onnx.GraphProto:
    """The graph of a Loop, a Scan or a SequenceMap."""
    found: onnx.GraphProto = next(attr.g for attr in node.attribute if attr.name == "body")
    return found


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph, and the graphs in its nodes."""
    yield graph
    for node in graph.node:
        for sub in bodies(node):
            yield from graphs(sub)


def all_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """These nodes, and those of the graphs in them."""
    for node in nodes:
        yield node
        for sub in bodies(node):
            yield from all_nodes(sub.node)


def free_names(graph: onnx.GraphProto) -> set[str]:
    """Names a subgraph reads from the graphs around it."""
    bound = {p.name for p in graph.input} | {w.name for w in graph.initializer}
    bound |= {name for node in graph.node for name in node.output}
    read = {name for node in graph.node for name in node_reads(node)}
    return (read | {p.name for p in graph.output}) - bound - {""}


def node_reads(node: onnx.NodeProto) -> set[str]:
    """Names a node reads: its inputs and what its subgraphs take from outside."""
    names = set(node.input) - {""}
    for sub in bodies(node):
        names |= free_names(sub)
    return names
