"""What the importer computes of constants is what the fuzzer's evaluators give."""

from __future__ import annotations

import onnx
import pytest

from tests.fuzz import generate
from tests.fuzz.bodies import BODIES
from tests.fuzz.evaluate import Array
from tests.fuzz.judge import Judge
from tests.fuzz.sketch import Graph
from tvm_megcc.frontend import fold

#: Graphs of some six nodes.
SEEDS = range(900_000, 900_300)


def _folded(node: onnx.NodeProto, graph: Graph) -> dict[str, Array]:
    """The node's results where all its operands are constants; none where it is converted."""
    operands = [graph.values[n] if n else None for n in node.input]
    if node.op_type in BODIES or any(isinstance(a, list) for a in operands):
        return {}
    found = fold.fold(node, operands, graph.opsets)
    return {} if found is None else {n: f for n, f in zip(node.output, found, strict=True) if n}


@pytest.mark.parametrize("start", range(SEEDS.start, SEEDS.stop, 50))
def test_constants_are_folded_as_they_are_evaluated(start: int) -> None:
    count, wrong = 0, []
    for seed in range(start, start + 50):
        graph = generate.graph(seed)
        for node in graph.nodes:
            if found := _folded(node, graph):
                count += 1
                inputs = {n: graph.values[n] for n in node.input if n}
                alone = Graph([node], graph.opsets, inputs, {}, [*found], values=graph.values)
                if verdict := Judge(alone, graph.values).wrong(found):
                    wrong.append(f"{seed}: {node.op_type}: {verdict.text}")
    assert count > 50
    assert not wrong
