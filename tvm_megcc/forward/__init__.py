"""Forwarding: outputs that take over the memory of an input, before addresses are planned.

Enters: a `Program` from ``lower``, in which every tensor of the arena names its storage. Leaves:
the same computation with fewer, shared storages (and perhaps another order of calls).

Example
-------
>>> program = memory.place(forward(lower(mod, ...)))  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable

from tvm_megcc.core.program import Program
from tvm_megcc.forward.concat import concat_in_place
from tvm_megcc.forward.copies import elide_copies
from tvm_megcc.forward.inplace import run_in_place
from tvm_megcc.forward.merging import Storages
from tvm_megcc.forward.order import reorder
from tvm_megcc.forward.overlap import overlap_windows
from tvm_megcc.forward.ports import caller_ports
from tvm_megcc.forward.states import copied_first
from tvm_megcc.forward.workers import give_workspaces

__all__ = [
    "caller_ports",
    "concat_in_place",
    "elide_copies",
    "forward",
    "give_workspaces",
    "overlap_windows",
    "reorder",
    "run_in_place",
]

#: A change of the ordered program: see `forward`.
Change = Callable[[Program, Callable[[Program], Program], Callable[[Program], list[int]]], Program]


def forward(
    program: Program, io: str = "caller", threads: int = 1, change: Change | None = None
) -> Program:
    """All forwarding steps in order.

    Parameters
    ----------
    program : Program
        Without addresses (``arena_bytes`` is None).
    io : {"caller", "arena"}
        Whether inputs and outputs live in buffers of the caller or in the arena.
    threads : int
        For how many threads calls have workspaces, at most. With more than one, outputs lie over
        their inputs only where running these calls whole costs next to nothing.
    change : callable, optional
        What the ordered program becomes before its storages are shared. It is given the program,
        and two functions: of a program, what the other steps make of it, and the bytes that are
        live during each of its calls.
    """
    program = reorder(copied_first(program), io)

    def placed(program: Program) -> Program:
        program = run_in_place(elide_copies(concat_in_place(program, io)))
        return overlap_windows(program, io, threads)

    if change is not None:
        program = change(program, placed, lambda trial: Storages(trial).pressure(io))
    program = give_workspaces(placed(program), threads)
    return caller_ports(program, io) if io == "caller" or program.states else program
