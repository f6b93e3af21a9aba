"""The state pairs of a module: inputs and outputs that share memory, by their numbers.

Example
-------
>>> states_of(with_states(tvm.IRModule(), [(1, 0)]))
((1, 0),)
"""

from __future__ import annotations

from collections.abc import Iterable

import tvm

from tvm_megcc.relax_tools.attributes import read, written

ATTRIBUTE = "tvm_megcc.states"


def with_states(mod: tvm.IRModule, pairs: Iterable[tuple[int, int]]) -> tvm.IRModule:
    """Declare that parameters and results (by number) of the module's entry share memory."""
    rows = sorted({*states_of(mod), *pairs})
    return written(mod, ATTRIBUTE, rows) if rows else mod


def states_of(mod: tvm.IRModule) -> tuple[tuple[int, int], ...]:
    """Numbers of the input and the output of each pair."""
    return tuple((int(a), int(b)) for a, b in read(mod, ATTRIBUTE) or ())
