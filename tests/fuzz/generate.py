"""A random graph from a seed."""

from __future__ import annotations

import contextlib

from tests.fuzz import operators, stateful
from tests.fuzz.data import Random
from tests.fuzz.feeds import open_some
from tests.fuzz.sketch import Graph, Sketch, Unfit

_OPSETS = (*range(9, 27), 11, 13, 13, 17, 18, 21, 22)


def graph(seed: int) -> Graph:
    """The graph of a seed: 1 to 20 nodes, some of them with states."""
    own = Random(seed, 3)
    kind = own.bits.random()
    if kind < stateful.OF_A_FORM:
        return stateful.graph(own, own.one(_OPSETS))
    found = _drawn(seed)
    if kind < stateful.OF_A_FORM + stateful.OF_ANY:
        stateful.pair_some(found, own)
    return found


def _drawn(seed: int) -> Graph:
    rng = Random(seed)
    wanted = rng.one((1, 2, 3, 3, 4, 5, 6, 8, 10, 12, 16, 20))
    sketch = Sketch(rng, rng.one(_OPSETS))
    table = operators.table()
    attempts = 0
    while len(sketch.nodes) < wanted and attempts < 6 * wanted + 10:
        attempts += 1
        with contextlib.suppress(Unfit):
            rng.one(table)(sketch)
    if not sketch.nodes:
        return _drawn(seed + (1 << 40))
    found = sketch.finish()
    if rng.chance(0.4):
        open_some(found, rng)
    return found
