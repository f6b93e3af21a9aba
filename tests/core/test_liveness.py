"""How long storages are live: around loops, and inside of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tvm_megcc.core.program import (
    Call,
    Else,
    End,
    If,
    Kernel,
    Location,
    Loop,
    Port,
    Program,
    Step,
    Tensor,
    live_steps,
    loops,
    regions,
)


def program(
    calls: Sequence[Step], inputs: Sequence[int] = (), outputs: Sequence[int] = ()
) -> Program:
    """Tensors are storages of the same number; 0 counts a loop, 1 is a constant."""
    places = [Location("weights" if i == 1 else "arena", i) for i in range(9)]
    return Program(
        "m", "portable", tuple(Port(f"x{i}", i) for i in inputs),
        tuple(Port(f"y{i}", i) for i in outputs),
        tuple(Tensor(f"t{i}", "u8", (8,), at) for i, at in enumerate(places)),
        (Kernel("k", source="x"),), tuple(calls), (),
    )  # fmt: skip


def call(*operands: int) -> Call:
    return Call(0, operands, 1)


#: Steps 2 to 4 are a loop, 6 to 11 one with a loop of steps 8 to 9 in it.
TWICE = [call(2, 3), call(1, 0), Loop(0), call(3, 4), End(), call(4, 5),
         Loop(0), call(5, 6), Loop(0), End(), call(6, 7), End(), call(7, 8)]  # fmt: skip


def test_where_branches_and_loops_end() -> None:
    steps = [If(2), Loop(0), End(), Else(), call(2, 3), End()]
    assert regions(program(steps)) == {0: 3, 1: 2, 3: 5}
    assert loops(program(steps)) == [(1, 2)] and loops(program(TWICE)) == [(8, 9), (2, 4), (6, 11)]


@pytest.mark.parametrize(
    "calls, inputs, outputs, wanted",
    [
        # Without a loop: from the first step that touches a storage to the last.
        ([call(2, 3), call(3, 4), call(2, 4, 5)], [2], [5],
         {2: (0, 2), 3: (0, 1), 4: (1, 2), 5: (2, 2)}),
        # Of one iteration: within the loop alone. Used outside, too: during all of the loop.
        ([Loop(0), call(2, 3), call(3, 4), call(4, 5), End()], [], [],
         {0: (0, 4), 2: (1, 1), 3: (1, 2), 4: (2, 3), 5: (3, 3)}),
        ([call(1, 2), Loop(0), call(2, 3), call(3, 4), End(), call(4, 5)], [], [],
         {0: (1, 4), 2: (0, 4), 3: (2, 3), 4: (1, 5), 5: (5, 5)}),
        # Ports are outside, even if nothing outside touches them.
        ([Loop(0), call(2, 3), call(3, 4), End()], [2], [4],
         {0: (0, 3), 2: (0, 3), 3: (1, 2), 4: (0, 3)}),
        # A loop in a loop: what is outside of the inner one, and inside of the outer one.
        ([Loop(0), call(1, 2), Loop(0), call(2, 3), call(3, 4), End(), call(4, 5), End()], [], [],
         {0: (0, 7), 2: (1, 5), 3: (3, 4), 4: (2, 6), 5: (6, 6)}),
    ],
    ids=["straight", "inside", "across", "ports", "nested"],
)  # fmt: skip
def test_live_steps(
    calls: list[Step], inputs: list[int], outputs: list[int], wanted: dict[int, tuple[int, int]]
) -> None:
    assert live_steps(program(calls, inputs, outputs)) == wanted
