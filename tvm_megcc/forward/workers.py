"""Workspaces for several workers: each part of a split call has scratch memory of its own.

Enters: a program with final storages, and its number of threads. Leaves: the program, with a
workspace of equal parts for each call that is worth splitting.
"""

from __future__ import annotations

from dataclasses import replace

from tvm_megcc.core.program import ALIGNMENT, Call, Program, Step
from tvm_megcc.core.splitting import MOST, is_whole, parts
from tvm_megcc.dims import ceildiv


def give_workspaces(program: Program, threads: int) -> Program:
    """Widen workspaces for `threads` workers; one worker changes nothing."""
    tensors = list(program.tensors)

    def widened(step: Step) -> Step:
        if not isinstance(step, Call) or step.workspace is None or is_whole(program, step):
            return step
        workers = min(threads, parts(step), MOST)
        if workers > 1:
            one = tensors[step.workspace]
            own = ceildiv(one.nbytes, ALIGNMENT) * ALIGNMENT
            tensors[step.workspace] = replace(one, shape=(own * workers,))
        return replace(step, workers=workers)

    calls = tuple(map(widened, program.calls))
    return replace(program, tensors=tuple(tensors), calls=calls)
