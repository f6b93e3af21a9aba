"""Whether a model fits a board, said as early as it is known.

Enters: programs on their way through the compiler, and a board. Leaves: `DoesNotFit`, whose
sentence has the bytes that are needed and those that there are.
"""

from __future__ import annotations

from collections.abc import Iterable

from tvm_megcc.core.board_table import Board
from tvm_megcc.core.contents import Bytes
from tvm_megcc.core.program import Program
from tvm_megcc.memory import DoesNotFit


def check_weights(name: str, weights: Iterable[Bytes], board: Board) -> None:
    """Raise DoesNotFit if a model's packed weights are more than the board's flash."""
    needed = sum(map(len, weights))
    if needed <= board.flash:
        return
    missing = needed - board.flash
    raise DoesNotFit(
        f"model '{name}' on {board}: {missing} bytes of flash are missing, its weights take"
        f" {needed} and there are {board.flash}; quantise the model (tvmc quantize), or take a"
        " board with more flash",
        missing,
        0,
        (),
    )


def check_arena(program: Program, board: Board) -> None:
    """Raise DoesNotFit if a planned arena, or the one that does for all sizes, is more than RAM.

    An arena that no bound is known of is not checked.
    """
    needed = program.arena_limit if program.symbols else program.arena_bytes
    if needed is None or needed <= board.ram:
        return
    missing = needed - board.ram
    step = program.plan.peak_step if program.plan is not None else 0
    most = "" if program.plan is None else f" (call {step}, '{program.calls[step].name}', the most)"
    raise DoesNotFit(
        f"model '{program.name}' on {board}: {missing} bytes of RAM are missing, its arena takes"
        f" {needed}{most} and there are {board.ram}; take a smaller input, or a board with more"
        " RAM",
        missing,
        step,
        (),
    )
