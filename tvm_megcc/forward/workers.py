"""Workspaces for several workers: each part of a split call has scratch memory of its own.

Enters: a program whose storages are settled, and for how many threads it is compiled. Leaves: the
same, with a workspace of equal parts for every call that is worth splitting; a call that runs
whole, or is small, keeps one.
"""

from __future__ import annotations

from dataclasses import replace

from tvm_megcc.core.program import ALIGNMENT, Call, Program, Step
from tvm_megcc.core.splitting import MOST, is_whole, parts
from tvm_megcc.dims import ceildiv


def give_workspaces(program: Program, threads: int) -> Program:
    """`program` with workspaces for `threads` workers; for one nothing changes."""
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
