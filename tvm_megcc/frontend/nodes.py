"""The nodes of a graph for `relax_tools.nodes`: those whose results are computed when it runs."""

from __future__ import annotations

from collections.abc import Container, Iterator

import onnx

from tvm_megcc.relax_tools.nodes import Node

from .graphs import bodies, node_reads
from .values import label


def nodes(graph: onnx.GraphProto, computed: Container[str]) -> Iterator[Node]:
    """The nodes of a graph, and of the graphs in its nodes, that write one of these values."""
    for node in graph.node:
        for inner in bodies(node):
            yield from nodes(inner, computed)
        writes = tuple(name for name in node.output if name in computed)
        if writes:
            reads = sorted(name for name in node_reads(node) if name in computed)
            yield Node(label(node), tuple(reads), writes)
