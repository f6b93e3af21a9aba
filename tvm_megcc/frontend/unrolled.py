"""Loops whose states are sequences that change their length: their body is converted each time.

Enters: a Loop whose number of iterations is known when compiling. Leaves: its results; nothing of
the loop is left in the module.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence

import numpy as np
import onnx

from . import sequence_nodes
from .sequences import Value
from .state import Importer, Scope

#: Bodies beside each other that a model may become; more would bloat its package.
MOST = 256


def can_unroll(count: Value | None, started: Value | None) -> bool:
    """Whether a Loop's operands say how many iterations there are, and they are few."""
    return (
        isinstance(count, np.ndarray)
        and int(count.reshape(-1)[0]) <= MOST
        and (started is None or isinstance(started, np.ndarray))
    )


def unrolled(
    importer: Importer,
    node: onnx.NodeProto,
    body: onnx.GraphProto,
    operands: Sequence[Value | None],
    scope: Scope,
) -> list[Value]:
    """The results of a Loop that `can_unroll`; its operands are trip count, condition, states."""
    count, started, *states = operands
    assert isinstance(count, np.ndarray)
    assert started is None or isinstance(started, np.ndarray)
    ctx = importer.context(node)
    first, condition, *names = (port.name for port in body.input)
    rank = len(body.input[0].type.tensor_type.shape.dim)
    rows: list[list[Value]] = [[] for _ in body.output[1 + len(names) :]]
    holds = started is None or bool(started.reshape(-1)[0])
    for k in range(int(count.reshape(-1)[0])):
        if not holds:
            break
        known: dict[str, Value] = {first: np.full((1,) * rank, k), condition: np.array(True)}
        known |= zip(names, states, strict=True)
        flag, *found = importer.branch(body, ChainMap(known, scope)) or [None]
        if importer.missing:
            return []
        if not isinstance(flag, np.ndarray):
            raise ctx.unsupported(
                "has sequences as states and a condition that is computed at run time",
                "make the condition a constant of the body",
            )
        holds, states = bool(flag.reshape(-1)[0]), found[: len(names)]
        for row, value in zip(rows, found[len(names) :], strict=True):
            row.append(value)
    if not all(rows):
        raise ctx.unsupported("gives rows and has no iteration", "do without the Loop")
    return [*states, *(sequence_nodes.joined(importer, node, row, 0, new=True) for row in rows)]
