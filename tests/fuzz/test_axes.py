"""Every operator says that a tensor has no such axis, whichever of its attributes names it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import onnx
import pytest

from tests.fuzz import generate
from tests.fuzz.sketch import Graph
from tvm_megcc.errors import InputError, MegccError
from tvm_megcc.frontend import from_onnx

NAMES = ("axis", "axes", "batch_axis", "batch_dims", "perm", "time_axis")
SEEDS = range(900_000, 900_400)


def _nodes() -> Iterator[tuple[str, onnx.NodeProto, int, Graph]]:
    """Of each operator and attribute one node that the fuzzer draws: (what, node, which, graph)."""
    seen = set()
    for graph in map(generate.graph, SEEDS):
        for node in graph.nodes:
            is_plain = not any(a.HasField("g") for a in node.attribute)
            is_plain &= not any(isinstance(graph.values[n], list) for n in node.input if n)
            for k, attr in enumerate(node.attribute):
                what = f"{node.op_type}_{attr.name}"
                if is_plain and attr.name in NAMES and (attr.ints or attr.type == attr.INT):
                    # Of one scale nobody asks for which axis.
                    by_axis = "uantizeLinear" not in what or graph.values[node.input[1]].size > 1
                    if what not in seen and by_axis:
                        seen.add(what)
                        yield what, node, k, graph


@cache
def found() -> dict[str, tuple[onnx.NodeProto, int, Graph]]:
    return {what: (node, which, graph) for what, node, which, graph in _nodes()}


@pytest.mark.slow
def test_the_fuzzer_draws_the_operators_that_have_axes() -> None:
    assert len(found()) >= 38


@pytest.mark.slow
@pytest.mark.parametrize("axis", [9, -9, (1 << 32) + 1])
def test_no_tensor_has_that_axis(axis: int) -> None:
    wrong = {what: text for what, row in found().items() if (text := _said(axis, *row))}
    assert not wrong


def _said(axis: int, drawn: onnx.NodeProto, number: int, graph: Graph) -> str:
    """What is said of that axis, or "" where the message is as it should be."""
    node = onnx.NodeProto()
    node.CopyFrom(drawn)
    attr = node.attribute[number]
    if attr.type == attr.INT:
        attr.i = axis
    else:
        attr.ints[0] = axis
    inputs = {n: graph.values[n] for n in node.input if n}
    outputs = [name for name in node.output if name]
    alone = Graph([node], graph.opsets, inputs, {}, outputs, values=graph.values)
    try:
        from_onnx(alone.model())
    except MegccError as error:
        text = str(error)
        names_it = isinstance(error, InputError) or "axis" in text or "rank" in text
        is_one = node.name in text and "tvm_megcc/ops" not in text and "\n" not in text
        return "" if names_it and is_one else text
    return "nothing"
