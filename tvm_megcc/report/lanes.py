"""The graph of a program as lanes beside its list of calls, as tools for version control draw it.

Every call is a dot in its row. A call goes on in the lane of a value that nobody reads after it;
where a value is read again later (a residual), its lane stays, and the others branch off.

Enters: for each call the calls whose results it reads; -1 - k is the model's input k. Leaves: each
one's lane, and the edges.

Example
-------
>>> lanes([[-1], [0], [0, 1]], 1)
Lanes(of={-1: 0, 0: 0, 1: 1, 2: 0}, edges=((-1, 0), (0, 1), (0, 2), (1, 2)), width=2)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lanes:
    """`of`: lane of each call; `edges`: from a call to its readers; `width`: number of lanes."""

    of: Mapping[int, int]
    edges: tuple[tuple[int, int], ...]
    width: int


def lanes(after: Sequence[Sequence[int]], inputs: int) -> Lanes:
    """Lay out the calls of a program in their order."""
    last: dict[int, int] = {}
    for call, sources in enumerate(after):
        for source in sources:
            last[source] = call
    taken: dict[int, int] = {}  # lane -> whose value waits in it
    of: dict[int, int] = {}
    for call in (*(-1 - k for k in range(inputs)), *range(len(after))):
        sources = after[call] if call >= 0 else ()
        done = [s for s in sources if last[s] == call]
        for source in done:
            del taken[of[source]]
        free = [of[source] for source in done]
        lane = min(free) if free else _first_free(taken)
        of[call] = lane
        if call in last:
            taken[lane] = call
    edges = tuple((s, call) for call, sources in enumerate(after) for s in sources)
    return Lanes(of, edges, max(of.values(), default=0) + 1)


def _first_free(taken: Mapping[int, int]) -> int:
    lane = 0
    while lane in taken:
        lane += 1
    return lane
