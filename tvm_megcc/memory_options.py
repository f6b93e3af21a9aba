"""Options of memory planning, in a module of their own so that reading them loads nothing else.

Example
-------
>>> MemoryOptions(planner="greedy-size", limit=256 * 1024)
MemoryOptions(planner='greedy-size', time_limit=5.0, limit=262144, pools=(), \
clobber_inputs=False, threads=1)
"""

from __future__ import annotations

from dataclasses import dataclass

#: Where inputs and outputs may live.
IO_PLACES = ("caller", "arena")


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """Options of `tvm_megcc.memory.place`.

    Attributes
    ----------
    planner : str
        One of `tvm_megcc.memory.PLANNERS`.
    time_limit : float
        Seconds for the searches among them.
    limit : int or None
        Bytes that all pools together may take.
    pools : tuple of (str, int or None)
        Names of the caller's buffers with their bytes, best first; None is as large as needed.
        Without any there is one.
    clobber_inputs : bool
        Whether the space of an input that lives in the arena may be used again after its last read;
        the caller must then write it before each run.
    threads : int
        How many threads calls have memory for, at most; any smaller number works, too.
    """

    planner: str = "auto"
    time_limit: float = 5.0
    limit: int | None = None
    pools: tuple[tuple[str, int | None], ...] = ()
    clobber_inputs: bool = False
    threads: int = 1


def check(options: MemoryOptions) -> None:
    """Raise InputError for options that no model can be planned with, before one is read."""
    from tvm_megcc import memory

    memory.check_planner(options.planner, options.time_limit)
    if options.pools:
        memory.check_pools(options.pools, options.planner)
