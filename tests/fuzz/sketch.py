"""A graph while it grows: nodes, and the concrete value of everything that they read and write.

A node enters only when ONNX Runtime (or, where it has no kernel, `onnx.reference`) evaluates it, so
that a graph is a valid model at the sizes it was made with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import onnx
from onnx import helper

from tests.fuzz import evaluate
from tests.fuzz.data import Random

Array = np.ndarray

#: A graph whose values have more elements costs time and finds nothing more.
MOST_ELEMENTS = 30_000
_IR = 10


class Unfit(Exception):
    """A generator finds no operand that it can use."""


@dataclass
class Graph:
    """A finished graph: a model with one set of inputs, and the answers.

    Attributes
    ----------
    inputs, weights : dict
        What is known when the model runs, and when it is compiled.
    open_dims : dict
        Input -> names of its dims, None where the dim is fixed.
    values : dict
        Every value by name, at these inputs.
    states : dict
        Input -> the output that shares its memory; a pair of which a port is missing is left out.
    later : dict
        Input -> its values in the runs after the first, where they are not drawn.
    """

    nodes: list[onnx.NodeProto]
    opsets: dict[str, int]
    inputs: dict[str, Array]
    weights: dict[str, Array]
    outputs: list[str]
    open_dims: dict[str, list[str | None]] = field(default_factory=dict)
    values: dict[str, Array] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    later: dict[str, list[Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        there = self.states.items()
        self.states = {a: b for a, b in there if a in self.inputs and b in self.outputs}

    def model(self, name: str = "g") -> onnx.ModelProto:
        """As ONNX."""
        ports = []
        for port, array in self.inputs.items():
            names = self.open_dims.get(port) or [None] * array.ndim
            dims = [n or d for n, d in zip(names, array.shape, strict=True)]
            ports.append(helper.make_tensor_value_info(port, evaluate.element(array), dims))
        results = [
            helper.make_tensor_value_info(o, evaluate.element(self.values[o]), None)
            for o in self.outputs
        ]
        weights = [evaluate.tensor(n, a) for n, a in self.weights.items()]
        graph = helper.make_graph(self.nodes, name, ports, results, weights)
        entries = [helper.make_opsetid(d, v) for d, v in self.opsets.items()]
        return helper.make_model(graph, opset_imports=entries, ir_version=_IR)

    def pruned(self, outputs: Sequence[str]) -> Graph:
        """Only what these outputs need."""
        wanted, kept = set(outputs), []
        for node in reversed(self.nodes):
            if wanted.intersection(node.output):
                wanted.update(evaluate.reads(node))
                kept.append(node)
        return replace(
            self,
            nodes=kept[::-1],
            outputs=list(outputs),
            inputs={n: a for n, a in self.inputs.items() if n in wanted},
            weights={n: a for n, a in self.weights.items() if n in wanted},
        )


class Sketch:
    """A graph under construction.

    Attributes
    ----------
    rng : Random
    opset : int
    values : dict
        Name -> concrete value, of operands and of results.
    number : int
        Of the latest name.
    depth : int
        In how many bodies it stands.
    """

    def __init__(self, rng: Random, opset: int) -> None:
        self.rng = rng
        self.opset = opset
        self.opsets = {"": opset}
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: dict[str, Array] = {}
        self.weights: dict[str, Array] = {}
        self.values: dict[str, Array] = {}
        self.made: list[str] = []
        self.refusals: list[tuple[str, str]] = []
        self.states: dict[str, str] = {}
        self.later: dict[str, list[Array]] = {}
        self.open_dims: dict[str, list[str | None]] = {}
        self.number = 0
        self.depth = 0

    def fresh(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"

    # ---- operands ----------------------------------------------------------------------------

    def give(self, array: Array, at_run_time: float = 0.5) -> str:
        """A new operand: an input of the model with this probability, else an initialiser."""
        array = np.asarray(array)
        run_time = self.rng.chance(at_run_time)
        name = self.fresh("x" if run_time else "w")
        (self.inputs if run_time else self.weights)[name] = array
        self.values[name] = array
        return name

    def data(
        self,
        dtypes: Sequence[np.dtype],
        rank: int | None = None,
        fits: Callable[[Array], bool] = lambda array: True,
        shape: Callable[[], Sequence[int]] | None = None,
        reuse: float = 0.75,
        tame: bool = False,
    ) -> str:
        """A tensor to compute with: a value that is there and fits, else a new operand."""
        found = [
            name
            for name in (*self.made, *self.made, *self.inputs)
            if self.values[name].dtype in dtypes
            and (rank is None or self.values[name].ndim == rank)
            and fits(self.values[name])
        ]
        if found and self.rng.chance(reuse):
            return self.rng.one(found)
        for _ in range(50):
            dims = shape() if shape is not None else self.rng.shape(rank)
            array = self.rng.array(self.rng.one(dtypes), dims, tame)
            if fits(array):
                return self.give(array, 0.85)
        raise Unfit

    def shape_of(self, name: str) -> tuple[int, ...]:
        return self.values[name].shape

    def dtype_of(self, name: str) -> np.dtype:
        return self.values[name].dtype

    # ---- nodes -------------------------------------------------------------------------------

    def node(
        self,
        op: str,
        inputs: Sequence[str | None],
        outputs: int | Sequence[bool] = 1,
        domain: str = "",
        version: int | None = None,
        **attributes: object,
    ) -> list[str] | None:
        """Add a node; its outputs, or None where no evaluator takes it."""
        wanted = [True] * outputs if isinstance(outputs, int) else outputs
        names = [self.fresh("v") if want else "" for want in wanted]
        given = {
            key: value for key, value in attributes.items() if value is not None and value != []
        }
        operands = [name or "" for name in inputs]
        while operands and not operands[-1]:
            operands.pop()
        node = helper.make_node(op, operands, names, name=self.fresh("n"), domain=domain, **given)
        return self.add(node, version)

    def add(self, node: onnx.NodeProto, version: int | None = None) -> list[str] | None:
        """Add a node that is made already."""
        opsets = dict(self.opsets)
        if node.domain:
            opsets.setdefault(node.domain, version or 1)
        names = [name for name in node.output if name]
        try:
            results = evaluate.either(node, opsets, self.values)
        except evaluate.Refused as refusal:
            self.refusals.append((node.op_type, str(refusal)))
            return None
        if any(r.size > MOST_ELEMENTS or r.dtype.kind not in "fiubV" for r in results):
            return None
        self.opsets = opsets
        self.nodes.append(node)
        self.values.update(zip(names, results, strict=True))
        self.made += names
        return names

    def finish(self) -> Graph:
        """The graph, with the values that nobody reads and some others as outputs."""
        read = {name for node in self.nodes for name in evaluate.reads(node)}
        outputs = [n for n in self.made if n not in read or self.rng.chance(0.15)]
        outputs += [n for n in self.states.values() if n not in outputs]
        given = [*self.inputs, *self.weights]
        if given and self.rng.chance(0.06):
            outputs.append(self.rng.one(given))
        graph = Graph(
            self.nodes, self.opsets, self.inputs, self.weights, outputs, self.open_dims,
            self.values, self.states, self.later,
        )  # fmt: skip
        return graph.pruned(outputs)
