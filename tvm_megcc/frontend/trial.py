"""Values of a graph for inputs that are given: shape arithmetic and masks, tried out with numbers.

Enters: a graph, and arrays for some of its values. Leaves: what other values are then. Weights of
products are not read: the dims of what they make are known without them.

Example
-------
>>> trial = Trial(Nodes(model), {"attention_mask": np.ones((1, 4))})     # doctest: +SKIP
>>> trial.value("mask").shape                                            # doctest: +SKIP
(1, 1, 4, 4)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np
import onnx

from . import mapped
from .fold import fold
from .graphs import node_reads
from .values import Array, attributes

#: Most elements of a constant that is read: that of a mask, not that of a product.
MAX_CONSTANT = 1 << 22

#: Most nodes on a way to a value.
MAX_DEPTH = 200

#: Operators whose result has the dims of all their operands together, and of the first one.
_BROADCAST = {"Add", "Sub", "Mul", "Div", "Pow", "Where"}
_UNARY = {"Identity", "Cast", "Neg", "Sqrt", "Sigmoid", "Tanh", "Relu", "LayerNormalization",
          "SimplifiedLayerNormalization", "RMSNormalization"}  # fmt: skip


class Unknown(Exception):
    """A value that does not follow from what is given."""


class Nodes:
    """A graph by the names of its values: what makes each, and which nodes read it."""

    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self.opsets = {
            "" if o.domain == "ai.onnx" else o.domain: o.version for o in model.opset_import
        }
        self.makers = {name: node for node in graph.node for name in node.output if name}
        self.readers: dict[str, list[onnx.NodeProto]] = {}
        for node in graph.node:
            for name in node_reads(node):
                self.readers.setdefault(name, []).append(node)
        self.constants = {tensor.name: tensor for tensor in graph.initializer}
        self.outputs = {port.name for port in graph.output}

    def maker(self, name: str, *kinds: str) -> onnx.NodeProto | None:
        """The node of one of these operators that makes a value, None for any other."""
        node = self.makers.get(name)
        return node if node is not None and is_of(node, *kinds) else None

    def leading_to(self, name: str, given: Set[str]) -> Iterator[str]:
        """A value and all that it is made of, each once; of what is given nothing else."""
        waiting, seen = [name], {name}
        while waiting:
            name = waiting.pop()
            yield name
            known = name in given or name not in self.makers
            new = set() if known else node_reads(self.makers[name]) - seen
            seen |= new
            waiting += sorted(new)


def is_of(node: onnx.NodeProto, *kinds: str) -> bool:
    """Whether a node is of one of ONNX's operators."""
    return node.domain in ("", "ai.onnx") and node.op_type in kinds


class Trial:
    """Values for given ones; those that are found are kept."""

    def __init__(self, nodes: Nodes, given: Mapping[str, Array]) -> None:
        self.nodes = nodes
        self.found: dict[str, Array] = dict(given)
        self.given = given.keys()
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.depth = 0

    def value(self, name: str) -> Array:
        """A value. Raises Unknown."""
        if name not in self.found:
            self._deeper(name, self._make)
        return self.found[name]

    def dims(self, name: str) -> tuple[int, ...]:
        """The dims of a value, also of one that is not known. Raises Unknown."""
        if name in self.found:
            return self.found[name].shape
        if name not in self.shapes:
            self._deeper(name, self._size)
        return self.shapes[name]

    def _deeper(self, name: str, make: Any) -> None:
        if self.depth >= MAX_DEPTH:
            raise Unknown(name)
        self.depth += 1
        try:
            make(name)
        finally:
            self.depth -= 1

    def _make(self, name: str) -> None:
        constant = self.nodes.constants.get(name)
        if constant is not None:
            if np.prod(constant.dims, dtype=object) > MAX_CONSTANT:
                raise Unknown(name)
            self.found[name] = mapped.to_array(constant)
            return
        node = self.nodes.makers.get(name)
        if node is None:
            raise Unknown(name)
        results = self._shape(node) if is_of(node, "Shape") else None
        if results is None:
            operands = [self.value(read) if read else None for read in node.input]
            results = fold(node, operands, self.nodes.opsets, bounded=False)
        if results is None:
            raise Unknown(name)
        self.found |= {made: a for made, a in zip(node.output, results, strict=True) if made}

    def _shape(self, node: onnx.NodeProto) -> list[Array]:
        given = attributes(node)
        cut = slice(given.get("start", 0), given.get("end"))
        return [np.array(self.dims(node.input[0])[cut], np.int64)]

    def _size(self, name: str) -> None:
        constant = self.nodes.constants.get(name)
        node = self.nodes.makers.get(name)
        if constant is not None:
            self.shapes[name] = tuple(constant.dims)
        elif node is None:
            raise Unknown(name)
        elif is_of(node, *_UNARY) and node.output[0] == name:
            self.shapes[name] = self.dims(node.input[0])
        elif is_of(node, *_BROADCAST):
            try:
                self.shapes[name] = np.broadcast_shapes(*(self.dims(n) for n in node.input))
            except ValueError:
                raise Unknown(name) from None
        elif is_of(node, "Gather"):
            table, rows = (self.dims(n) for n in node.input)
            axis = attributes(node).get("axis", 0) % max(len(table), 1)
            self.shapes[name] = (*table[:axis], *rows, *table[axis + 1 :])
        elif is_of(node, "MatMul") and len(self.dims(node.input[1])) == 2:
            self.shapes[name] = (*self.dims(node.input[0])[:-1], self.dims(node.input[1])[1])
        else:
            self.shapes[name] = self.value(name).shape
